import { issueKey } from '../../support/application/factories';
import { until } from '../../faults/support/watch';
import { textOf } from '../mcp/mcp-clients';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('Sessions of MCP at the gateway', () => {
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;
  let url: string;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpUpstream();
    gateway = await startGateway(
      stage,
      { shop: { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] } },
      { file: { oauth: { issuers: ['https://login.example'] } } },
    );
    url = `${gateway.url}/shop/mcp`;
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    await stage.close();
  });

  const post = (message: unknown, headers: Readonly<Record<string, string>> = bearer(stage.key)): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(message),
    });

  /** Begins a session and returns the headers of its requests. */
  async function begin(headers: Readonly<Record<string, string>> = bearer(stage.key)): Promise<Record<string, string>> {
    const response = await post(INITIALIZE, headers);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"result"')]);
    return { ...headers, 'Mcp-Session-Id': String(response.headers.get('mcp-session-id')) };
  }

  const ping = async (session: Readonly<Record<string, string>>): Promise<number> => {
    const response = await post({ jsonrpc: '2.0', id: 'ping', method: 'ping' }, session);
    await response.text();
    return response.status;
  };

  async function anotherKey(name: string): Promise<Record<string, string>> {
    return bearer((await issueKey(stage.app, { name, scopes: ['execute'], agentId: stage.agentId })).secret);
  }

  it('tells a client without a key where it gets one', async () => {
    const { status, headers } = await post(INITIALIZE, {});
    const metadata = `${gateway.url}/.well-known/oauth-protected-resource/shop/mcp`;
    expect([status, headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${metadata}", scope="execute"`,
    ]);
    expect(await (await fetch(metadata)).json()).toEqual({
      resource: url,
      authorization_servers: ['https://login.example'],
      scopes_supported: ['execute'],
      bearer_methods_supported: ['header'],
    });
    expect((await post(INITIALIZE, bearer('a.token.x'))).status).toBe(401);
  });

  it('belong to the actor and principal that opened them', async () => {
    const session = await begin();
    const { Authorization: key = '', ...rest } = session;
    expect(await ping(session)).toBe(200);
    expect(await ping({ ...rest, ...(await anotherKey('second')) })).toBe(404);
    expect(await ping({ ...session, 'Governance-On-Behalf-Of': 'user:1' })).toBe(404);
    expect(await ping({ ...rest, Authorization: key })).toBe(200);
  });

  it('end for an eleventh of their owner, the longest idle one first', async () => {
    const owner = await anotherKey('many');
    const sessions: Record<string, string>[] = [];
    for (let count = 0; count < 10; count += 1) sessions.push(await begin(owner));
    const [first = {}, second = {}] = sessions;
    expect(await ping(first)).toBe(200);
    await begin(owner);
    expect(await ping(second)).toBe(404);
    expect(await ping(first)).toBe(200);
  });

  it('refuse the id of a request that is in flight', async () => {
    const session = await begin();
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'refund', arguments: { id: 7 } } };
    const first = await post(message, session);
    const expectRefused = async (body: object): Promise<void> => {
      const second = await post(body, session);
      const error = expect.objectContaining({ code: -32_600 });
      expect([second.status, await second.json()]).toEqual([400, expect.objectContaining({ error })]);
    };
    await expectRefused(message);
    // The SDK ignores it, so the call goes on.
    const cancellation = { requestId: 7, reason: 7 };
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancellation }, session);
    await expectRefused(message);
    const pending = async () => (await stage.executions('&action=refund&outcome=pending_approval'))[0];
    await until('the call waits', async () => (await pending()) !== undefined);
    await stage.approve(String((await pending())?.decisionId));
    expect(await first.text()).toContain('{\\"id\\":7}');
  });

  it('answer many messages of nearly one MiB that are sent together', async () => {
    const session = await begin();
    const text = 'x'.repeat(2 ** 20 - 500);
    const answers = Array.from({ length: 10 }, async (_, id) => {
      const params = { _meta: { text, none: null } };
      return (await post({ jsonrpc: '2.0', id, method: 'ping', params }, session)).text();
    });
    for (const [id, answer] of (await Promise.all(answers)).entries()) expect(answer).toContain(`"id":${id}}`);
  });

  const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 8 } };

  it('end the exchange of a cancelled request, whose id is free from then on', async () => {
    const session = await begin();
    const params = { name: 'refund', arguments: { cancelled: 'in a batch' } };
    const call = { jsonrpc: '2.0', id: 8, method: 'tools/call', params };
    const first = await post([call, { jsonrpc: '2.0', id: 9, method: 'ping' }], session);
    expect((await post([cancellation], session)).status).toBe(202);
    expect(await first.text()).toContain('The request was cancelled.');
    const second = await post({ jsonrpc: '2.0', id: 8, method: 'ping' }, session);
    expect([second.status, await second.text()]).toEqual([200, expect.stringContaining('"result":{}')]);
  });

  it('refuse a batch that cancels a request of its own', async () => {
    const session = await begin();
    const request = { jsonrpc: '2.0', id: 8, method: 'ping' };
    for (const batch of [
      [cancellation, request],
      [request, cancellation],
    ]) {
      const refused = await post(batch, session);
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('of its own')]);
    }
    expect((await post(request, session)).status).toBe(200);
  });

  it('end when the file is read again, and clients begin new ones', async () => {
    const { sessionId } = await connectClient(url, bearer(stage.key));
    const session = { ...bearer(stage.key), 'Mcp-Session-Id': String(sessionId) };
    expect(await ping(session)).toBe(200);
    gateway.process.kill('SIGHUP');
    await until('the session has ended', async () => (await ping(session)) === 404);
    expect(await ping(await begin())).toBe(200);
  });

  it('have the run and the principal of the request that opened them', async () => {
    const key = { name: 'run', scopes: ['execute' as const], agentId: stage.agentId, principals: ['user:*'] };
    const { secret } = await issueKey(stage.app, key);
    const headers = { ...bearer(secret), 'Governance-Run': 'a%20run', 'Governance-On-Behalf-Of': 'user:7' };
    const { client } = await connectClient(url, headers);
    expect(textOf(await client.callTool({ name: 'write', arguments: { run: true } }))).toBe('{"run":true}');
    await client.close();
    const [execution] = await stage.executions('&action=write');
    expect(execution).toMatchObject({ run: 'a run', onBehalfOf: { subject: 'user:7' }, via: 'shop' });
  });
});
