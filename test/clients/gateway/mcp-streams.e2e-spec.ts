import { request as sendRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { createAgent, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const PREFIX = 'io.modelcontextprotocol';
const MODERN = '2026-07-28';
/** A request of the protocol without handshake whose response lasts while the client listens. */
const LISTEN = {
  ...{ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' },
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      [`${PREFIX}/protocolVersion`]: MODERN,
      [`${PREFIX}/clientCapabilities`]: {},
      [`${PREFIX}/clientInfo`]: { name: 'test', version: '1' },
    },
  },
};

interface Listener {
  readonly agentId: string;
  readonly keyId: string;
  readonly response: Response;
  /** Begins the same stream once more. */
  readonly again: () => Promise<Response>;
}

describe('A stream of MCP events at the gateway', () => {
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;

  beforeAll(async () => {
    stage = await openStage();
    upstream = await startMcpUpstream();
    const shop = { mcp: upstream.url, hosts: ['shop.internal'], credentials: [VENDOR_CREDENTIAL] };
    gateway = await startGateway(stage, { shop }, { file: { oauth: { issuers: ['https://login.example'] } } });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    await stage.close();
  });

  /** An agent of its own that listens. */
  async function listen(name: string, era: 'legacy' | 'modern'): Promise<Listener> {
    const { id: agentId } = await createAgent(stage.app, { name, capabilities: ['*'] });
    const { secret, id: keyId } = await issueKey(stage.app, { name, scopes: ['execute'], agentId });
    const url = `${gateway.url}/shop/mcp`;
    const headers = { ...bearer(secret), Accept: 'application/json, text/event-stream' };
    if (era === 'modern') {
      const modern = {
        'MCP-Protocol-Version': MODERN,
        'Mcp-Method': LISTEN.method,
        'Content-Type': 'application/json',
      };
      const again = (): Promise<Response> =>
        fetch(url, { method: 'POST', headers: { ...headers, ...modern }, body: JSON.stringify(LISTEN) });
      return { agentId, keyId, response: await again(), again };
    }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name, version: '1' } };
    const begun = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    });
    await begun.text();
    const session = { 'Mcp-Session-Id': String(begun.headers.get('mcp-session-id')) };
    const again = (): Promise<Response> => fetch(url, { headers: { ...headers, ...session } });
    return { agentId, keyId, response: await again(), again };
  }

  const ENDS: readonly (readonly [string, (listener: Listener) => readonly [string, object]])[] = [
    ['a stop of its agent', ({ agentId }) => ['stops', { agentId, reason: 'a test' }]],
    ['its suspended agent', ({ agentId }) => [`agents/${agentId}/suspend`, { reason: 'a test' }]],
    ['its revoked key', ({ keyId }) => [`api-keys/${keyId}/revoke`, { reason: 'a test' }]],
  ];

  describe.each(['legacy', 'modern'] as const)('(%s protocol)', (era) => {
    it.each(ENDS)('ends by %s', async (what, request) => {
      const listener = await listen(`${what} ${era}`, era);
      expect([listener.response.status, listener.response.headers.get('content-type')]).toEqual([
        200,
        'text/event-stream',
      ]);
      const ended = listener.response.text().then(
        () => 'ended',
        () => 'reset',
      );
      const [path, body] = request(listener);
      expect((await send(stage.app, 'POST', `/api/v1/${path}`, { body })).status).toBeLessThan(300);
      expect(await ended).toBe('reset');
    });

    it('does not begin again while its agent is stopped', async () => {
      const listener = await listen(`again ${era}`, era);
      const body = { agentId: listener.agentId, reason: 'a test' };
      const { id } = (await send(stage.app, 'POST', '/api/v1/stops', { body })).body;
      await expect(listener.response.text()).rejects.toThrow();
      const refused = await listener.again();
      expect([refused.status, await refused.json()]).toMatchObject([403, { error: { reason: 'stopped' } }]);
      expect((await send(stage.app, 'POST', `/api/v1/stops/${id}/lift`, { body: { reason: 'a test' } })).status).toBe(
        200,
      );
      const begun = await listener.again();
      expect(begun.status).toBe(200);
      await begun.body?.cancel();
    });
  });

  it('goes on if a stop covers other actions', async () => {
    const listener = await listen('goes on', 'legacy');
    let hasEnded = false;
    void listener.response.text().catch(() => (hasEnded = true));
    const other = await listen('ends after it', 'legacy');
    for (const body of [
      { agentId: listener.agentId, actions: ['write'], reason: 'a test' },
      { agentId: other.agentId, reason: 'a test' },
    ])
      expect((await send(stage.app, 'POST', '/api/v1/stops', { body })).status).toBe(201);
    await expect(other.response.text()).rejects.toThrow();
    expect(hasEnded).toBe(false);
  });

  it('belongs to a server that may have a host of its own, with its metadata there', async () => {
    const { port, hostname } = new URL(gateway.url);
    const get = (
      path: string,
      host = `shop.internal:${port}`,
    ): Promise<{ status: number; challenge: string | undefined; body: string }> =>
      new Promise((resolve, reject) => {
        const headers = { Host: host };
        sendRequest({ host: hostname, port, path, headers }, (response) => {
          const challenge = response.headers['www-authenticate'];
          void text(response).then((body) => resolve({ status: response.statusCode ?? 0, challenge, body }), reject);
        })
          .on('error', reject)
          .end();
      });
    const metadata = `http://shop.internal:${port}/.well-known/oauth-protected-resource/mcp`;
    const refused = await get('/mcp');
    expect([refused.status, refused.challenge]).toEqual([
      401,
      `Bearer resource_metadata="${metadata}", scope="execute"`,
    ]);
    const odd = await get('/mcp', 'shop.internal:99999');
    expect([odd.status, odd.challenge]).toEqual([401, refused.challenge?.replace(`:${port}`, ':99999')]);
    expect(JSON.parse((await get(new URL(metadata).pathname)).body)).toMatchObject({
      resource: `http://shop.internal:${port}/mcp`,
      authorization_servers: ['https://login.example'],
    });
  });
});
