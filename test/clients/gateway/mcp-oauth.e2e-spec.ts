import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../../src/governance/executions/dto/execution.dto';
import { until } from '../../faults/support/watch';
import { createAgent } from '../../support/application/factories';
import { CLI, type McpClient, textOf } from '../mcp/mcp-clients';
import { PersonsAuthorization, signIn } from './mcp-sign-in';
import { type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const PUBLIC_URL = 'https://gateway.example.com';
/** Seconds of an access token that ends within the test. */
const TOKEN_SECONDS = 5;
/** Milliseconds for which the service takes a token that has expired. */
const LEEWAY_MS = 30_000;

interface SignedInClient {
  readonly client: McpClient;
  readonly authorization: PersonsAuthorization;
  readonly sessionId: string;
}

interface SdkTransport {
  readonly sessionId?: string;
  finishAuth(callback: URLSearchParams): Promise<void>;
}

const requireFromCli = createRequire(join(CLI, 'package.json'));

describe('Clients of MCP that sign in', () => {
  let folder: string;
  let issuer: ChildProcess;
  let printed = '';
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  let gateway: StartedGateway;
  let ann: SignedInClient;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-oauth-'));
    issuer = spawn(process.execPath, [join(__dirname, 'mcp-issuer.mjs')]);
    issuer.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await until('the issuer listens', () => /^ISSUER \S+$/m.test(printed) || issuer.exitCode !== null);
    const [, url = ''] = /^ISSUER (\S+)$/m.exec(printed) ?? [];
    const audiences = ['shop', 'other'].map((name) => `${PUBLIC_URL}/${name}/mcp`);
    const trusted = {
      ...{ issuer: url, audience: 'governance', gatewayAudiences: audiences, jwks: `${url}/jwks` },
      ...{ agents: ['assistant-ann', 'assistant-bert'], scopes: ['execute'] },
    };
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([trusted]));
    stage = await openStage({ TOKEN_ISSUERS: join(folder, 'issuers.json') });
    for (const name of ['assistant-ann', 'assistant-bert']) await createAgent(stage.app, { name, capabilities: ['*'] });
    upstream = await startMcpUpstream();
    const server = { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] };
    const file = { publicUrl: PUBLIC_URL, oauth: { issuers: [url] } };
    gateway = await startGateway(stage, { shop: server, other: server }, { file });
    ann = await signedIn('assistant-ann');
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.stop();
    issuer.kill();
    await once(issuer, 'close');
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  /** Reaches the gateway at its public address, as what ends TLS in front of it does. */
  function fetchPublic(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target);
    if (url.origin !== PUBLIC_URL) return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.set('Host', url.host);
    return fetch(`${gateway.url}${url.pathname}`, { ...init, headers });
  }

  function open(authorization: PersonsAuthorization): { client: McpClient; transport: SdkTransport } {
    const { Client, StreamableHTTPClientTransport } = requireFromCli('@modelcontextprotocol/client');
    const client: McpClient = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } });
    const options = { authProvider: authorization, fetch: fetchPublic };
    const transport: SdkTransport = new StreamableHTTPClientTransport(new URL(`${PUBLIC_URL}/shop/mcp`), options);
    return { client, transport };
  }

  /** A client that knows only the address of the upstream, once a person has signed in. */
  async function signedIn(login: string): Promise<SignedInClient> {
    const authorization = new PersonsAuthorization();
    const first = open(authorization);
    await expect(first.client.connect(first.transport)).rejects.toThrow();
    await first.transport.finishAuth(await signIn(authorization.authorizationUrl, login));
    const { client, transport } = open(authorization);
    await client.connect(transport);
    return { client, authorization, sessionId: String(transport.sessionId) };
  }

  const tokenOf = ({ authorization }: SignedInClient): string => String(authorization.tokens()?.access_token);
  /** When the service no longer takes the token, in milliseconds since 1970. */
  const endOf = (signedInClient: SignedInClient): number => {
    const [, claims = ''] = tokenOf(signedInClient).split('.');
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp: number };
    return exp * 1_000 + LEEWAY_MS;
  };
  const grants = (type: string): number => printed.split(`GRANT ${type}\n`).length - 1;
  const newest = async (resource: string): Promise<ExecutionResponse | undefined> =>
    (await stage.executions(`&resourceId=shop/${resource}`)).at(0);

  it('find the issuer by the challenge, and call tools as the agent of the token', async () => {
    await until('the issuer has said so', () => grants('authorization_code') === 1);
    expect((await ann.client.listTools()).tools.map(({ name }) => name)).toEqual(['read', 'write', 'refund']);
    expect(textOf(await ann.client.callTool({ name: 'write', arguments: { by: 'ann' } }))).toBe('{"by":"ann"}');
    const execution = await stage.ended(String((await newest('write'))?.id));
    expect(execution).toMatchObject({ agentName: 'assistant-ann', via: 'shop', outcome: 'executed' });
  });

  it('wait for an approval', async () => {
    const call = ann.client.callTool({ name: 'refund', arguments: { amount: 5 } });
    await until('it waits', async () => (await newest('refund'))?.outcome === 'pending_approval');
    await stage.approve(String((await newest('refund'))?.decisionId));
    expect(textOf(await call)).toBe('{"amount":5}');
    expect(upstream.ran().filter((call) => call.startsWith('refund'))).toHaveLength(1);
  });

  it('call tools of no other upstream with a token for this one', async () => {
    const headers = { ...bearer(tokenOf(ann)), 'Content-Type': 'application/json', Accept: 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const response = await fetchPublic(`${PUBLIC_URL}/other/mcp`, { method: 'POST', headers, body });
    expect(response.status).toBe(401);
    expect(response.headers.get('WWW-Authenticate')).toContain('/.well-known/oauth-protected-resource/other/mcp');
  });

  it('do not see sessions of each other', async () => {
    const bert = await signedIn('assistant-bert');
    expect(bert.sessionId).not.toBe(ann.sessionId);
    const [ofAnn, ofBert] = await Promise.all(
      [ann, bert].map(({ client }, index) => client.callTool({ name: 'write', arguments: { index } })),
    );
    expect([ofAnn, ofBert].map((result) => result !== undefined && textOf(result))).toEqual([
      '{"index":0}',
      '{"index":1}',
    ]);
    for (const method of ['POST', 'GET', 'DELETE']) {
      const response = await fetchPublic(`${PUBLIC_URL}/shop/mcp`, {
        method,
        headers: {
          ...bearer(tokenOf(bert)),
          ...{ 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
          ...{ 'Mcp-Session-Id': ann.sessionId, 'MCP-Protocol-Version': '2025-06-18' },
        },
        ...(method === 'POST' && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) }),
      });
      expect([method, response.status]).toEqual([method, 404]);
    }
    await bert.client.close();
  });

  it('go on in their session with a refreshed token once the last one has expired', async () => {
    await ann.client.close();
    issuer.stdin?.write(`${TOKEN_SECONDS}\n`);
    await until('the issuer has said so', () => printed.includes(`SECONDS ${TOKEN_SECONDS}\n`));
    ann = await signedIn('assistant-ann');
    await sleep(endOf(ann) - 2_000 - Date.now());
    // The gateway knows the caller now, and must not take it for known when the token has ended.
    await ann.client.listTools();
    // On a busy machine that request may have come too late, and have the next token.
    const expired = tokenOf(ann);
    const refreshes = grants('refresh_token');
    await sleep(endOf(ann) + 1_000 - Date.now());
    expect(textOf(await ann.client.callTool({ name: 'write', arguments: { later: true } }))).toBe('{"later":true}');
    expect(tokenOf(ann)).not.toBe(expired);
    await until('the issuer has said so', () => grants('refresh_token') === refreshes + 1);
    await ann.client.close();
  });
});
