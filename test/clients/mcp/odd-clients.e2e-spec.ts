import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { CLI, connectThroughProxy, REPORT_KEY, TOOL_SERVER } from './mcp-clients';
import { RawConnection } from './raw-connection';
import { type Customer, openShop, reportKeyOf, type Shop } from './shop';

const PRELOAD = `--require ${join(__dirname, 'short-waits.cjs')}`;
const ACCEPT = 'application/json, text/event-stream';

/** Requests as no client of the SDK would send them, all at one URL. */
class RawHttp {
  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string> = {},
  ) {}

  post(message: object, headers: Record<string, string> = {}): Promise<Response> {
    const all = { 'Content-Type': 'application/json', Accept: ACCEPT, ...this.headers, ...headers };
    return fetch(this.url, { method: 'POST', headers: all, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  }

  static async session(url: string, key: Record<string, string>): Promise<RawHttp> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const begun = await new RawHttp(url, key).post({ id: 'first', method: 'initialize', params });
    await begun.text();
    const session = new RawHttp(url, { ...key, 'Mcp-Session-Id': String(begun.headers.get('Mcp-Session-Id')) });
    await (await session.post({ method: 'notifications/initialized' })).text();
    return session;
  }
}

/** The key of the agent. */
function bearer({ GOVERNANCE_API_KEY: key }: NodeJS.ProcessEnv): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

describeOnSqlite('Odd clients of gov mcp', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop();
    await createPolicy(shop.app, { actions: ['held'], resources: ['tool/shop/*'], resourceTypes: ['tool'] });
  });
  afterAll(() => shop.close());

  /** An agent that may call what is held. */
  async function customer(name: string): Promise<Pick<Customer, 'environment' | 'runs'>> {
    const { id: agentId } = await createAgent(shop.app, { name, capabilities: ['held'] });
    const { secret } = await issueKey(shop.app, { name, scopes: ['execute'], agentId });
    return {
      environment: {
        ...{ GOVERNANCE_URL: shop.app.url, GOVERNANCE_API_KEY: secret },
        [REPORT_KEY]: await reportKeyOf(shop.app),
      },
      runs: join(shop.folder, name),
    };
  }

  const held = (id: number): object => ({ id, method: 'tools/call', params: { name: 'held', arguments: {} } });

  it('get 400 for the id of a request that is not answered yet; it is free afterwards, also after a refusal', async () => {
    const { environment, runs } = await customer('ids');
    const { url, close } = await connectThroughProxy({ way: 'http', era: 'legacy', runs, environment });
    const session = await RawHttp.session(url, bearer(environment));
    const first = await session.post(held(7));
    while (!existsSync(runs)) await sleep(20);
    const second = await session.post({ id: 7, method: 'ping' });
    expect([second.status, await second.text()]).toEqual([400, expect.stringContaining('in use by another')]);
    writeFileSync(`${runs}.go`, '');
    expect(await first.text()).toContain('"id":7');
    const refused = await session.post({ id: 7, method: 'ping' }, { Accept: 'text/plain' });
    expect([refused.status, typeof (await refused.text())]).toEqual([406, 'string']);
    const third = await session.post({ id: 7, method: 'ping' });
    expect([third.status, await third.text()]).toEqual([200, expect.stringContaining('"id":7')]);
    await close();
  });

  it('may have null for members that may be absent, in a session and without one', async () => {
    const { environment, runs } = await customer('nulls');
    writeFileSync(`${runs}.go`, '');
    const { url, close } = await connectThroughProxy({ way: 'http', era: 'legacy', runs, environment });
    const info = { name: 'raw', version: '1', title: null };
    const capabilities = { roots: null, elicitation: null };
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: info, _meta: null };
    const key = bearer(environment);
    const begun = await new RawHttp(url, key).post({ id: 1, method: 'initialize', params });
    expect([begun.status, await begun.text()]).toEqual([200, expect.stringContaining('"protocolVersion"')]);
    const session = new RawHttp(url, { ...key, 'Mcp-Session-Id': String(begun.headers.get('Mcp-Session-Id')) });
    const call = { name: 'held', arguments: null, _meta: { progressToken: null } };
    for (const [message, expected] of [
      [{ id: 2, method: 'tools/list', params: null }, '"name":"held"'],
      [{ id: 3, method: 'tools/list', params: { cursor: null } }, '"name":"held"'],
      [{ id: 4, method: 'tools/call', params: call }, '"text":"null"'],
      [{ id: 5, method: 'tools/call', params: { ...call, arguments: { order: null } } }, 'order'],
    ] as const) {
      const response = await session.post(message);
      expect([message, response.status, await response.text()]).toEqual([
        ...[message, 200, expect.stringContaining(expected)],
      ]);
    }
    const name = 'io.modelcontextprotocol';
    const version = { [`${name}/protocolVersion`]: '2026-07-28', [`${name}/clientCapabilities`]: {} };
    const _meta = { ...version, [`${name}/clientInfo`]: info, progressToken: null };
    const modern = new RawHttp(url, { ...key, 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' });
    const listed = await modern.post({ id: 6, method: 'tools/list', params: { cursor: null, _meta } });
    expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining('"name":"held"')]);
    await close();
  });

  it('without a handshake see a comment while their call runs', async () => {
    const { environment, runs } = await customer('comments');
    const own = { ...environment, NODE_OPTIONS: PRELOAD, SHORT_WAITS: '15000' };
    const { url, close } = await connectThroughProxy({
      way: 'http',
      era: 'modern',
      runs,
      environment: own,
    });
    const name = 'io.modelcontextprotocol';
    const version = { [`${name}/protocolVersion`]: '2026-07-28', [`${name}/clientCapabilities`]: {} };
    const _meta = { ...version, [`${name}/clientInfo`]: { name: 'raw', version: '1' } };
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'held' };
    const call = { id: 1, method: 'tools/call', params: { name: 'held', arguments: {}, _meta } };
    const { body, status } = await new RawHttp(url, bearer(environment)).post(call, headers);
    expect(status).toBe(200);
    let text = '';
    for await (const part of body ?? []) {
      text += Buffer.from(part).toString();
      // It runs on, and is answered only after a comment.
      if (/^:/m.test(text)) writeFileSync(`${runs}.go`, '');
    }
    expect(text).toMatch(/^:.*\n(.|\n)*^data: .*"id":1/m);
    await close();
  });

  it('leave a question unanswered, which ends', async () => {
    const { environment, runs } = await shop.customer('silent');
    const own = { ...environment, NODE_OPTIONS: PRELOAD, SHORT_WAITS: '300000' };
    const words = ['--name', 'shop', '--hold', '0'];
    const capabilities = { elicitation: { form: {} } };
    const server = [TOOL_SERVER, CLI, runs, 'stdio', 'legacy'];
    const connection = await RawConnection.open(server, own, { words, capabilities });
    connection.call('asks', 'refund', { order: 'silent' });
    await connection.until(({ method }) => method === 'elicitation/create');
    const { result } = await connection.until(({ id }) => id === 'asks');
    expect(result.content[0].text).toMatch(/^Approval pending: /);
    connection.send({ id: 'after', method: 'ping' });
    await connection.until(({ id }) => id === 'after');
    await connection.close();
  });
});
