import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { until } from '../../faults/support/watch';
import { createAgent, issueKey } from '../../support/application/factories';
import {
  bearer,
  callGateway,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { sendJson, type StandIn, startStandIn } from './stand-in';

const REQUESTS_OF_ONE_AGENT = 100;
const CONNECTIONS = 5_000;
/** The number of connections that the system keeps for a server that takes none. */
const RESET_TOGETHER = 300;
const LARGEST_BODY = 64 * 2 ** 20;
/** The most bytes of a body in which templates find their values. */
const LARGEST_PARSED_BODY = 8 * 2 ** 20;
/** Bodies of the largest size that fill the room of all bodies, of as many agents. */
const LARGEST_BODIES = 4;
/** Bytes and milliseconds between them: fast enough for a body that is still coming. */
const PART = Buffer.alloc(64 * 1024);
const PAUSE_MS = 1_000;

describe('The bounds of the gateway', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;
  let otherKey: string;
  const waiting: ServerResponse[] = [];

  beforeAll(async () => {
    stage = await openStage();
    const { id: agentId } = await createAgent(stage.app, { name: 'other', capabilities: ['*'] });
    ({ secret: otherKey } = await issueKey(stage.app, { name: 'other', scopes: ['execute'], agentId }));
    upstream = await startStandIn((request, response) => {
      if (request.url.startsWith('/waiting/')) waiting.push(response);
      else sendJson(response, { done: true });
    });
    const routes = [
      route('POST /refunds/:id', 'refund'),
      route('POST /named', 'write', { resource: { type: 'api', id: 'named/${body:/id}' } }),
      route('POST /:kind/:id', 'write', { maxBody: LARGEST_BODY, timeout: 'PT5M' }),
    ];
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], maxBody: LARGEST_BODY, routes };
    gateway = await startGateway(stage, { vendor });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('are 100 requests of one agent at a time, whatever its keys; others are served', async () => {
    const calls = Array.from({ length: REQUESTS_OF_ONE_AGENT }, (_, index) =>
      gateway.call(`/vendor/waiting/${index}`, { json: {} }),
    );
    await until('all have arrived', () => waiting.length === REQUESTS_OF_ONE_AGENT);
    const { status, headers } = await gateway.call('/vendor/more/1', { json: {} });
    expect([status, headers.get('Retry-After')]).toEqual([503, '1']);
    expect(upstream.below('/more/')).toHaveLength(0);
    expect(await stage.executions('&resourceId=more/1')).toEqual([]);
    const { secret: second } = await issueKey(stage.app, {
      name: 'second',
      scopes: ['execute'],
      agentId: stage.agentId,
    });
    const withSecondKey = await gateway.call('/vendor/more/1', { json: {}, headers: bearer(second) });
    expect(withSecondKey.status).toBe(503);
    const ofOther = { json: {}, headers: bearer(otherKey) };
    expect((await callGateway(gateway.url, '/vendor/others/1', ofOther)).status).toBe(200);
    for (const response of waiting.splice(0)) sendJson(response, { done: true });
    expect((await Promise.all(calls)).every(({ status: responseStatus }) => responseStatus === 200)).toBe(true);
    expect((await gateway.call('/vendor/more/1', { json: {} })).status).toBe(200);
  });

  it('are 100 requests of one agent that wait for its executions; others are served', async () => {
    const proposed = await gateway.call('/vendor/refunds/1', { json: {} });
    const path = `/-/executions/${String(proposed.error?.executionId)}`;
    const departure = new AbortController();
    const waits = Array.from({ length: REQUESTS_OF_ONE_AGENT }, () =>
      gateway.call(`${path}?wait=50`, { signal: departure.signal }).catch(() => null),
    );
    await until('the agent has no slot left', async () => (await gateway.call(path)).status === 503);
    expect((await gateway.call('/vendor/more/2', { json: {} })).status).toBe(503);
    const ofOther = { json: {}, headers: bearer(otherKey) };
    expect((await callGateway(gateway.url, '/vendor/others/3', ofOther)).status).toBe(200);
    departure.abort();
    await Promise.all(waits);
    await until('the slots are free', async () => (await gateway.call(path)).status === 200);
  });

  it('are 5,000 connections, of which one that sends nothing ends for another', async () => {
    const silent: Socket[] = [];
    while (silent.length < CONNECTIONS) {
      const sockets = Array.from({ length: 100 }, open);
      await Promise.all(sockets.map(async (socket) => once(socket, 'connect')));
      silent.push(...sockets);
    }
    const socket = open();
    let answer = '';
    socket.on('data', (part: Buffer) => (answer += part.toString()));
    const fields = [`Host: ${new URL(gateway.url).host}`, `X-API-Key: ${otherKey}`, 'Connection: close'];
    socket.write(['POST /vendor/others/4 HTTP/1.1', ...fields, '', ''].join('\r\n'));
    await once(socket, 'close');
    expect(answer).toContain('HTTP/1.1 200 ');
    for (const other of silent) other.destroy();
  });

  it('count no connection that was reset before the gateway took it', async () => {
    for (let count = 0; count < CONNECTIONS + RESET_TOGETHER; count += RESET_TOGETHER) {
      gateway.process.kill('SIGSTOP');
      const sockets = Array.from({ length: RESET_TOGETHER }, open);
      await Promise.all(sockets.map(async (socket) => once(socket, 'connect')));
      for (const socket of sockets) socket.resetAndDestroy();
      gateway.process.kill('SIGCONT');
      // The gateway takes connections in their order.
      const last = open();
      last.resume().write('GET / HTTP/1.0\r\n\r\n');
      await once(last, 'close');
    }
    const calls = Array.from({ length: 10 }, (_, index) => gateway.call(`/vendor/more/${10 + index}`, { json: {} }));
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 200));
  });

  it('are 8 MiB of a body in which a template finds its value, and maxBody for others', async () => {
    const body = (length: number): string => `{"id":"x${length}","text":"${'x'.repeat(length)}"}`;
    const post = (path: string, length: number): Promise<{ status: number; text: string }> =>
      gateway.call(path, { method: 'POST', form: body(length), headers: { 'Content-Type': 'application/json' } });
    expect((await post('/vendor/named', LARGEST_PARSED_BODY - 100)).status).toBe(200);
    // It is refused by its length, before it arrives.
    const socket = open();
    const { host } = new URL(gateway.url);
    const fields = [`Host: ${host}`, `X-API-Key: ${stage.key}`, 'Content-Type: application/json'];
    const length = `Content-Length: ${LARGEST_PARSED_BODY + 1}`;
    socket.write(['POST /vendor/named HTTP/1.1', ...fields, length, '', ''].join('\r\n'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain('HTTP/1.1 413 ');
    expect(answer.toString()).toContain(`at most ${LARGEST_PARSED_BODY}`);
    expect(answer.toString()).toContain('"reason":"body_too_large"');
    socket.destroy();
    expect((await post('/vendor/more/3', LARGEST_PARSED_BODY)).status).toBe(200);
    expect(upstream.below('/named')).toHaveLength(1);
  });

  it.each([
    ['is known', (): string => 'nobody', 401],
    ['may send as much', (): string => stage.key, 413],
  ])('leave the body of a cancellation unread until its caller %s', async (_, key, status) => {
    const socket = open();
    const head = ['POST /-/executions/exe_1/cancel HTTP/1.1', `Host: ${new URL(gateway.url).host}`];
    socket.write([...head, `X-API-Key: ${key()}`, `Content-Length: ${PART.length}`, '', 'a'].join('\r\n'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain(`HTTP/1.1 ${status} `);
    socket.destroy();
  });

  function open(): Socket {
    const { hostname, port } = new URL(gateway.url);
    return connect(Number(port), hostname).on('error', () => undefined);
  }

  /** Announces a body of the largest size, and sends it slowly once its room is reserved. */
  async function announceBody(index: number, key = stage.key): Promise<Socket> {
    const { hostname, port, host } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => socket.destroy());
    const head = [`POST /vendor/large/${index} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${key}`];
    const body = ['Content-Type: application/octet-stream', `Content-Length: ${LARGEST_BODY}`, 'Expect: 100-continue'];
    socket.write([...head, ...body, '', ''].join('\r\n'));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain('100 Continue');
    socket.write(PART);
    const timer = setInterval(() => socket.write(PART), PAUSE_MS);
    socket.once('close', () => clearInterval(timer));
    return socket;
  }

  /** Sends a body whose length is not announced. */
  async function sendChunked(index: number): Promise<Socket> {
    const { hostname, port, host } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    const head = [`POST /vendor/waiting/chunked-${index} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${stage.key}`];
    const body = ['Content-Type: application/json', 'Transfer-Encoding: chunked', '', '2', '{}', '0', '', ''];
    socket.write([...head, ...body].join('\r\n'));
    await until('it is sent', () => upstream.below('/waiting/chunked-').length === index + 1);
    return socket;
  }

  it('count a body without a length as what it turned out to have', async () => {
    const sockets: Socket[] = [];
    for (let index = 0; index < 2 * LARGEST_BODIES; index += 1) sockets.push(await sendChunked(index));
    expect((await gateway.call('/vendor/others/2', { json: {} })).status).toBe(200);
    const largest = await announceBody(2 * LARGEST_BODIES);
    for (const socket of [...sockets, largest]) socket.destroy();
    for (const response of waiting.splice(0)) sendJson(response, { done: true });
  });

  it('are 96 MiB of bodies of one agent at a time; others are served', async () => {
    const largest = await announceBody(0);
    const [refused, ofOther] = await Promise.all([
      gateway.call('/vendor/second/1', { form: `a=${'b'.repeat(33 * 2 ** 20)}` }),
      callGateway(gateway.url, '/vendor/small/0', { json: {}, headers: bearer(otherKey) }),
    ]);
    expect([refused.status, ofOther.status]).toEqual([503, 200]);
    expect((await gateway.call('/vendor/small/0', { json: {} })).status).toBe(200);
    largest.destroy();
  });

  it('are 256 MiB of bodies at a time; what needs no room is served', async () => {
    const sockets: Socket[] = [];
    for (let index = 0; index < LARGEST_BODIES; index += 1) {
      const { id: agentId } = await createAgent(stage.app, { name: `sender-${index}`, capabilities: ['*'] });
      const { secret } = await issueKey(stage.app, { name: `sender-${index}`, scopes: ['execute'], agentId });
      sockets.push(await announceBody(index, secret));
    }
    const [refused, served] = await Promise.all([
      gateway.call('/vendor/small/1', { json: {} }),
      gateway.call('/vendor/empty/1', { method: 'POST' }),
    ]);
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '1']);
    expect(refused.error?.message).toContain('room for the body');
    expect(served.status).toBe(200);
    expect(await stage.executions('&resourceId=small/1')).toEqual([]);
    for (const socket of sockets) socket.destroy();
    expect((await gateway.call('/vendor/small/1', { json: {} })).status).toBe(200);
    expect(upstream.below('/large/')).toHaveLength(0);
  });
});
