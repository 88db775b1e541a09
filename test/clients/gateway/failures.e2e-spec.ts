import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../faults/support/watch';
import { send, sendRaw } from '../../support/application/send';
import { freePort } from '../../../bench/support/free-port';
import {
  bearer,
  CREDENTIAL,
  type GatewayAnswer,
  type GatewayStage,
  openStage,
  route,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { type Answering, sendJson, type StandIn, startStandIn } from './stand-in';

interface ReceivedAnswer {
  readonly status: number | undefined;
  readonly isWhole: boolean;
  /** The body, as far as it came. */
  readonly body: string;
}

/** Unlike `fetch`, it keeps what came of an answer that breaks off. */
async function post(url: string, key: string): Promise<ReceivedAnswer> {
  const headers = { ...bearer(key), 'Content-Type': 'application/json' };
  const [answer] = (await once(httpRequest(url, { method: 'POST', headers }).end('{}'), 'response')) as [
    IncomingMessage,
  ];
  let body = '';
  answer.setEncoding('utf8').on('data', (text: string) => (body += text));
  answer.on('error', () => undefined);
  await new Promise((resolve) => answer.once('close', resolve));
  return { status: answer.statusCode, isWhole: answer.complete, body };
}

interface OldAnswer {
  readonly head: string;
  readonly body: string;
  /** True if the connection was reset. */
  readonly isReset: boolean;
}

/** Sends a request by HTTP/1.0, which proxies such as nginx speak by default. */
async function postOld(url: string, key: string): Promise<OldAnswer> {
  const { hostname, port, pathname } = new URL(url);
  const lines = [`POST ${pathname} HTTP/1.0`, `Host: ${hostname}`, `X-API-Key: ${key}`];
  const socket = connect(Number(port), hostname);
  let text = '';
  let isReset = false;
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  socket.on('error', () => (isReset = true));
  socket.write([...lines, 'Content-Type: application/json', 'Content-Length: 2', '', '{}'].join('\r\n'));
  await new Promise((resolve) => socket.once('close', resolve));
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { head, body, isReset };
}

/** Maps first segments of paths to answers. */
const ANSWERS: Readonly<Record<string, Answering>> = {
  breaks: (_, response) => void response.socket?.resetAndDestroy(),
  never: () => undefined,
  cut: (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.write('the first part', () => response.socket?.resetAndDestroy());
  },
  short: (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': '30' });
    response.write('the first part', () => response.socket?.destroy());
  },
  telling: (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': '60' });
    response.write(`${CREDENTIAL}, the first part`, () => response.socket?.destroy());
  },
  headless: (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': '30' }).flushHeaders();
    setTimeout(() => response.socket?.destroy(), 50);
  },
  endless: (_, response) => void response.writeHead(200).write('the first part'),
  slow: (_, response) => void setTimeout(() => sendJson(response, { done: true }), 500),
  unchanged: (_, response) => void response.writeHead(304, { 'Content-Length': '30', ETag: '"a"' }).end(),
  empty: (_, response) => void response.writeHead(204, { 'Content-Length': '30', ETag: '"a"' }).end(),
  measured: (_, response) => void response.writeHead(200, { 'Content-Length': '30', ETag: '"a"' }).end(),
  error: (_, response) => sendJson(response, { message: 'no such charge' }, 404),
};

describe('What happens when something fails', () => {
  let stage: GatewayStage;
  let upstream: StandIn;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startStandIn((request, response, message) => {
      const name = /^\/([^/?]+)/.exec(request.url)?.[1] ?? '';
      (ANSWERS[name] ?? ((_, other) => sendJson(other, { done: true })))(request, response, message);
    });
    const routes = [
      route('POST /refund/:id', 'refund', { hold: 'PT20S' }),
      route('POST /never/:id', 'write', { timeout: 'PT1S' }),
      route('POST,GET,HEAD /:kind/:id', 'write', { timeout: 'PT10S' }),
    ];
    const unreachable = `http://127.0.0.1:${await freePort()}`;
    const credentials = [VENDOR_CREDENTIAL];
    gateway = await startGateway(stage, {
      vendor: { url: upstream.url, credentials, routes },
      gone: { url: unreachable, credentials, routes },
    });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  it('reports what was carried out, with what was returned', async () => {
    const { status, text } = await gateway.call('/vendor/charges/1', { json: { amount: 1 } });
    expect([status, text]).toEqual([200, '{"done":true}']);
    const [execution] = await stage.executions('&resourceId=charges/1');
    const { outcome, result, via } = await stage.ended(String(execution?.id));
    expect({ outcome, result, via }).toEqual({
      outcome: 'executed',
      result: { status: 200, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 13 },
      via: 'vendor',
    });
  });

  it.each([
    ['304', 'GET', 'unchanged', '30'],
    ['204', 'GET', 'empty', undefined],
    ['200', 'HEAD', 'measured', '30'],
  ])('returns a %s to %s, which has no body, with its end', async (status, method, kind, length) => {
    for (const id of ['1', '2']) {
      const { host } = new URL(gateway.url);
      const head = [`${method} /vendor/${kind}/${id} HTTP/1.1`, `Host: ${host}`, `X-API-Key: ${stage.key}`];
      // A connection that is reset rejects.
      const answer = await sendRaw(gateway, [...head, 'Connection: close', '', ''].join('\r\n'));
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*ETag: "a"\r\n[^]*\r\n\r\n$`));
      expect(/Content-Length: (\d+)/i.exec(answer)?.[1]).toBe(length);
      const [execution] = await stage.executions(`&resourceId=${kind}/${id}`);
      const { outcome, result } = await stage.ended(String(execution?.id));
      expect(outcome).toBe('executed');
      expect(result).toEqual({ status: Number(status), sha256: expect.any(String), bytes: 0 });
    }
  });

  it("returns the vendor's error, and reports it as failed", async () => {
    const { status, text } = await gateway.call('/vendor/error/1', { json: {} });
    expect([status, text]).toEqual([404, '{"message":"no such charge"}']);
    const [execution] = await stage.executions('&resourceId=error/1');
    expect(await stage.ended(String(execution?.id))).toMatchObject({ outcome: 'failed', failureReason: 'HTTP 404' });
  });

  it('says that an upstream cannot be reached, with nothing sent', async () => {
    const { status, error, headers } = await gateway.call('/gone/charges/2', { json: {} });
    expect([status, error?.reason, error?.code]).toEqual([502, 'upstream_unreachable', 'GATEWAY_ERROR']);
    expect(headers.get('x-should-retry')).toBe('false');
    expect(headers.get('Stripe-Should-Retry')).toBe('false');
    expect(await stage.ended(String(error?.executionId))).toMatchObject({ outcome: 'failed', reason: 'not_sent' });
  });

  it.each(['breaks', 'never'])('does not know the outcome of a request whose upstream %s', async (kind) => {
    const { status, error } = await gateway.call(`/vendor/${kind}/1`, { json: {} });
    expect([status, error?.reason]).toEqual([422, 'outcome_unknown']);
    const id = String(error?.executionId);
    expect(await stage.ended(id)).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
    expect(upstream.below(`/${kind}/`)).toHaveLength(1);
    // The same again is refused until somebody has found out.
    const again = await gateway.call(`/vendor/${kind}/1`, { json: {}, headers: { 'Governance-Run': 'another' } });
    expect([again.status, again.error?.reason]).toEqual([422, 'outcome_unknown']);
    expect(upstream.below(`/${kind}/`)).toHaveLength(1);
    const headers = { 'Governance-Repeat': id };
    const lifted = await gateway.call(`/vendor/${kind}/1`, { json: {}, headers });
    expect(lifted.error?.executionId).not.toBe(id);
    expect(upstream.below(`/${kind}/`)).toHaveLength(2);
  });

  it('resets the connection where the answer breaks off', async () => {
    await expect(gateway.call('/vendor/cut/1', { json: {} })).rejects.toThrow();
    const [execution] = await stage.executions('&resourceId=cut/1');
    const { outcome, result } = await stage.ended(String(execution?.id));
    expect({ outcome, result }).toEqual({
      outcome: 'executed',
      result: { status: 200, sha256: expect.any(String), bytes: 14, cut: true },
    });
  });

  it.each([
    ['some of its body', 'short', 14],
    ['a credential', 'telling', 28],
    ['nothing of its body', 'headless', 0],
    ['a part of a stream', 'cut', 14],
  ])('returns the head of an answer that breaks off after %s: SDKs repeat what has none', async (_, kind, bytes) => {
    const received = await post(`${gateway.url}/vendor/${kind}/head`, stage.key);
    expect(received).toMatchObject({ status: 200, isWhole: false });
    const [execution] = await stage.executions(`&resourceId=${kind}/head`);
    const { outcome, result } = await stage.ended(String(execution?.id));
    const returned = {
      status: 200,
      sha256: createHash('sha256').update(received.body).digest('hex'),
      bytes,
      cut: true,
    };
    expect({ outcome, result }).toEqual({ outcome: 'executed', result: returned });
  });

  it.each([
    ['with a length, after some of its body', 'short', 'the first part', false],
    ['with a length, after nothing of its body', 'headless', '', false],
    ['without a length', 'telling', '[credential], the first part', true],
    ['in a stream', 'cut', 'the first part', true],
  ])('returns the head by HTTP/1.0, too, of an answer that breaks off %s', async (_, kind, body, isReset) => {
    const received = await postOld(`${gateway.url}/vendor/${kind}/old`, stage.key);
    expect(received).toEqual({ head: expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n/), body, isReset });
    expect(/^content-length: 30\r?$/im.test(received.head)).toBe(!isReset);
  });

  it('resets an answer by HTTP/1.0 that ends with the gateway', async () => {
    const vendor = { url: upstream.url, credentials: [VENDOR_CREDENTIAL], routes: [route('POST /:kind/:id', 'write')] };
    const other = await startGateway(stage, { vendor }, { name: 'ending' });
    const receiving = postOld(`${other.url}/vendor/endless/old`, stage.key);
    await until('the answer has begun', () => upstream.below('/endless/').length > 0);
    expect(await other.stop()).toBe(0);
    expect(await receiving).toMatchObject({ body: 'the first part', isReset: true });
  });

  it('withdraws the request of a client that leaves while it waits', async () => {
    const controller = new AbortController();
    const call = gateway.call('/vendor/refund/left', { json: {}, signal: controller.signal });
    const waiting = async (): Promise<string | undefined> =>
      (await stage.executions('&resourceId=refund/left&outcome=pending_approval'))[0]?.id;
    await until('it waits', async () => (await waiting()) !== undefined);
    const id = String(await waiting());
    controller.abort();
    await expect(call).rejects.toThrow();
    expect(await stage.ended(id)).toMatchObject({ outcome: 'cancelled' });
    expect(upstream.below('/refund/left')).toHaveLength(0);
  });

  it('keeps the request while another call waits for it', async () => {
    const controller = new AbortController();
    const first = gateway.call('/vendor/refund/two', { json: {}, signal: controller.signal });
    const waiting = (): Promise<{ id: string; decisionId: string | null }[]> =>
      stage.executions('&resourceId=refund/two&outcome=pending_approval');
    await until('the first waits', async () => (await waiting()).length === 1);
    const second = gateway.call('/vendor/refund/two', { json: {} });
    await sleep(300);
    controller.abort();
    await expect(first).rejects.toThrow();
    const [execution] = await waiting();
    await stage.approve(String(execution?.decisionId));
    expect((await second).status).toBe(200);
    expect(upstream.below('/refund/two')).toHaveLength(1);
  });

  it('awaits the status for a client that leaves after the request was sent', async () => {
    const controller = new AbortController();
    const call = gateway.call('/vendor/slow/left', { json: {}, signal: controller.signal });
    await until('it was sent', () => upstream.below('/slow/left').length === 1);
    controller.abort();
    await expect(call).rejects.toThrow();
    const [execution] = await stage.executions('&resourceId=slow/left');
    expect(await stage.ended(String(execution?.id))).toMatchObject({
      outcome: 'executed',
      result: { status: 200, bytes: 0, cut: true },
    });
  });

  it("holds a request under a client's key whose first execution was cancelled", async () => {
    const call = (): Promise<GatewayAnswer> =>
      gateway.call('/vendor/refund/again', { json: {}, headers: { 'Idempotency-Key': 'again' } });
    const waiting = async (): Promise<{ readonly id: string; readonly decisionId: string | null }> => {
      const find = (): ReturnType<GatewayStage['executions']> =>
        stage.executions('&resourceId=refund/again&outcome=pending_approval');
      await until('it waits', async () => (await find()).length === 1);
      const [execution] = await find();
      return execution ?? { id: '', decisionId: null };
    };
    const first = call();
    const { id } = await waiting();
    expect((await send(stage.app, 'POST', `/api/v1/executions/${id}/cancel`)).status).toBe(200);
    expect((await first).error?.reason).toBe('approval_required');
    const second = call();
    await stage.approve(String((await waiting()).decisionId));
    expect((await second).status).toBe(200);
    expect(upstream.below('/refund/again')).toHaveLength(1);
  });
});
