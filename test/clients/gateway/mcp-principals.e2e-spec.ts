import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPair, type Pair, type Parts, publicKey, secondsFromNow, signedToken } from '../../access/token-signing';
import { until } from '../../faults/support/watch';
import { createAgent } from '../../support/application/factories';
import { type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const PUBLIC_URL = 'https://gateway.example.com';
const ISSUER = 'https://login.example.org';
const AUDIENCE = `${PUBLIC_URL}/shop/mcp`;
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const PING = { jsonrpc: '2.0', id: 'ping', method: 'ping' };

/** Headers of a client's requests. */
type Client = Readonly<Record<string, string>>;

describe('Tokens of one subject that act for several people', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-mcp-principals-'));
  let pair: Pair;
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;

  beforeAll(async () => {
    pair = await newPair('ES256');
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [await publicKey(pair, 'one')] }));
    const issuer = { issuer: ISSUER, audience: 'governance', gatewayAudiences: [AUDIENCE], jwks: 'keys.json' };
    const rights = {
      agents: ['assistant'],
      scopes: ['execute'],
      principalClaim: 'user',
      principalRolesClaim: 'groups',
    };
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([{ ...issuer, ...rights }]));
    stage = await openStage({ TOKEN_ISSUERS: join(folder, 'issuers.json') });
    await createAgent(stage.app, { name: 'assistant', capabilities: ['*'] });
    upstream = await startMcpUpstream();
    const server = { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] };
    gateway = await startGateway(stage, { shop: server }, { file: { publicUrl: PUBLIC_URL } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  let tokens = 0;
  async function token(user: string, claims: Parts = {}): Promise<Client> {
    tokens += 1;
    const times = { iat: secondsFromNow(0), exp: secondsFromNow(600 + tokens), jti: `token-${tokens}` };
    const payload = { iss: ISSUER, sub: 'assistant', aud: AUDIENCE, user, ...times, ...claims };
    return bearer(await signedToken('ES256', pair, { kid: 'one' }, payload));
  }

  const post = (message: unknown, headers: Client): Promise<Response> =>
    fetch(`${gateway.url}/shop/mcp`, {
      method: 'POST',
      headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(message),
    });

  async function begin(headers: Client): Promise<string> {
    const response = await post(INITIALIZE, headers);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"result"')]);
    return String(response.headers.get('mcp-session-id'));
  }

  async function statusOf(headers: Client): Promise<number> {
    const response = await post(PING, headers);
    await response.text();
    return response.status;
  }

  it('have sessions of their own', async () => {
    const session = { 'Mcp-Session-Id': await begin(await token('alice')) };
    expect(await statusOf({ ...(await token('bob')), ...session })).toBe(404);
    expect(await statusOf({ ...(await token('alice', { groups: ['finance'] })), ...session })).toBe(404);
    expect(await statusOf({ ...(await token('alice')), ...session })).toBe(200);
  });

  const call = (amount: number, more: object = {}): object => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'refund', arguments: { amount }, ...more },
  });
  const META = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = (method: string): Client => ({ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method });
  const withSession = async (client: Client): Promise<Client> => ({ ...client, 'Mcp-Session-Id': await begin(client) });

  it.each([
    {
      kind: 'with a session',
      open: withSession,
      run: (client: Client) => post(call(1), client),
      disturb: async (client: Client) => statusOf(await withSession(client)),
    },
    {
      kind: 'without a session',
      open: (client: Client) => Promise.resolve(client),
      run: (client: Client) =>
        post(call(2, { _meta: META }), { ...client, ...modern('tools/call'), 'Mcp-Name': 'refund' }),
      disturb: async (client: Client) => {
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } };
        const response = await post(message, { ...client, ...modern('tools/list') });
        await response.text();
        return response.status;
      },
    },
  ])('serve no call of each other that runs $kind', async ({ open, run, disturb }) => {
    const before = (await stage.executions('&action=refund')).length;
    const response = run(await open(await token('alice')));
    const waiting = async () => (await stage.executions('&action=refund&outcome=pending_approval'))[0];
    await until('the call waits', async () => (await waiting()) !== undefined);
    expect(await disturb(await token('bob'))).toBe(200);
    await stage.approve(String((await waiting())?.decisionId));
    expect(await (await response).text()).toContain('{\\"amount\\":');
    const [execution, ...others] = await stage.executions('&action=refund');
    expect(others).toHaveLength(before);
    const ended = await stage.ended(String(execution?.id));
    expect(ended).toMatchObject({ onBehalfOf: { subject: 'user:alice' }, outcome: 'executed' });
  });
});
