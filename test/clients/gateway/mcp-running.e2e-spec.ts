import type { ServerResponse } from 'node:http';
import { until } from '../../faults/support/watch';
import { createAgent, issueKey } from '../../support/application/factories';
import { type McpStandIn, startMcpStandIn } from './mcp-stage';
import { freePort } from '../../../bench/support/free-port';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const REQUESTS_OF_ONE_AGENT = 100;
const VERSION = '2025-03-26';
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const DONE = { content: [{ type: 'text', text: 'done' }] };
type Headers = Readonly<Record<string, string>>;

describe('MCP calls that run', () => {
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let gateway: StartedGateway;
  let metrics: string;
  /** True if the server answers at once, in streams that it does not end. */
  let streams = false;
  /** Maps responses of the server to what ends them. */
  const running = new Map<ServerResponse, () => void>();

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpStandIn(({ request, response, reply }) => {
      if (streams) {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(request.body).id, result: DONE })}\n\n`,
        );
      }
      running.set(response, () => reply(DONE));
      response.on('close', () => running.delete(response));
    });
    metrics = `127.0.0.1:${await freePort()}`;
    // The calls run at once, however long a slow machine takes to send all of them.
    const shop = { mcp: `${upstream.url}/mcp`, credentials: [VENDOR_CREDENTIAL], timeout: 'PT10M' };
    gateway = await startGateway(stage, { shop }, { file: { metrics } });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await stage.close();
  });

  afterEach(async () => {
    for (const end of running.values()) end();
    await until('nothing runs', async () => (await count()) === 0);
  });

  /** Requests that run, by the metric. */
  async function count(): Promise<number> {
    const text = await (await fetch(`http://${metrics}/metrics`)).text();
    return Number(/^gateway_requests_running (\d+)$/m.exec(text)?.[1]);
  }

  const post = (headers: Headers, message: unknown, signal?: AbortSignal): Promise<Response> =>
    fetch(`${gateway.url}/shop/mcp`, {
      method: 'POST',
      headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(message),
      ...(signal !== undefined && { signal }),
    });
  const call = (id: number): object => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'write', arguments: { id } },
  });

  /** A session of a new agent. */
  async function begin(name: string): Promise<Headers> {
    const { id: agentId } = await createAgent(stage.app, { name, capabilities: ['*'] });
    const { secret } = await issueKey(stage.app, { name, scopes: ['execute'], agentId });
    const response = await post(bearer(secret), INITIALIZE);
    await response.text();
    const session = String(response.headers.get('mcp-session-id'));
    return { ...bearer(secret), 'Mcp-Session-Id': session, 'MCP-Protocol-Version': VERSION };
  }

  /** Sends a message, and leaves once its calls run. */
  async function leave(headers: Headers, message: object, runs: number): Promise<void> {
    const controller = new AbortController();
    const left = post(headers, message, controller.signal).then((response) => response.text());
    const outcome = left.catch(() => 'left');
    await until(`${runs} calls run`, () => running.size === runs);
    controller.abort();
    await outcome;
  }

  it('keep the slots of their agent when the client leaves', async () => {
    const headers = await begin('leaving');
    for (let id = 1; id <= REQUESTS_OF_ONE_AGENT; id += 1) await leave(headers, call(id), id);
    expect(await count()).toBe(REQUESTS_OF_ONE_AGENT);
    const response = await post(headers, call(1_000));
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('as many requests')]);
    expect(running.size).toBe(REQUESTS_OF_ONE_AGENT);
    const other = await begin('other');
    const otherCall = post(other, call(1));
    await until('the call of another agent runs', () => running.size > REQUESTS_OF_ONE_AGENT);
    for (const end of running.values()) end();
    expect(await (await otherCall).text()).toContain('done');
    await until('nothing runs', async () => (await count()) === 0);
  });

  it('of a batch have a slot each', async () => {
    const headers = await begin('batches');
    const batch = (first: number, size: number): object[] =>
      Array.from({ length: size }, (_, index) => call(first + index));
    await leave(headers, batch(1, 60), 60);
    expect(await count()).toBe(60);
    expect((await post(headers, batch(100, 41))).status).toBe(503);
    await leave(headers, batch(200, 40), REQUESTS_OF_ONE_AGENT);
    expect((await post(headers, call(1_000))).status).toBe(503);
    expect(running.size).toBe(REQUESTS_OF_ONE_AGENT);
  });

  it('end at the server when the client cancels them, with their slots', async () => {
    const headers = await begin('cancelling');
    const start = performance.now();
    for (let requestId = 1; requestId <= 3; requestId += 1) {
      await leave(headers, call(requestId), 1);
      const params = { requestId, reason: 'no longer needed' };
      const cancelled = await post(headers, { jsonrpc: '2.0', method: 'notifications/cancelled', params });
      expect(cancelled.status).toBe(202);
      await until('nothing runs', async () => running.size === 0 && (await count()) === 0);
    }
    // A call that the server does not answer would end after 30 seconds.
    expect(performance.now() - start).toBeLessThan(30_000);
  });

  it('end at the server once they are answered, also where it leaves their stream open', async () => {
    const headers = await begin('streams');
    streams = true;
    expect(await (await post(headers, call(1))).text()).toContain('done');
    expect(running.size).toBe(1);
    await until('the stream has ended', () => running.size === 0);
    streams = false;
  });

  it('are not multiplied by notifications: a server hears of new roots one at a time', async () => {
    const headers = await begin('roots');
    const method = 'notifications/roots/list_changed';
    const batch = Array.from({ length: 100 }, () => ({ jsonrpc: '2.0', method }));
    const before = upstream.received.length;
    expect((await post(headers, batch)).status).toBe(202);
    await (await post(headers, { jsonrpc: '2.0', id: 'ping', method: 'ping' })).text();
    const heard = upstream.received.slice(before).filter(({ body }) => body.includes(method));
    expect(heard.length).toBeLessThanOrEqual(2);
  });
});
