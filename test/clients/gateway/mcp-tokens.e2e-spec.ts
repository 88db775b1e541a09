import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as sendRequest, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../faults/support/watch';
import { lift, stop } from '../../stops/support';
import { signedTokens } from '../../support/application/signed-tokens';
import { type McpStandIn, startMcpStandIn } from './mcp-stage';
import { openDoor, type ServiceDoor } from './service-door';
import { bearer, type GatewayStage, openStage, type StartedGateway, startGateway, VENDOR_CREDENTIAL } from './stage';

const ISSUER = 'https://login.example.org';
const PUBLIC_URL = 'https://gateway.example.com';
const SHOP_HOST = 'shop.internal';
const VERSION = '2025-03-26';
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: {} } };
const ERROR = { code: 'UNAUTHORIZED', message: 'The token has expired.', details: [], requestId: 'test' };
/** The answer of the service to a token that has expired. */
const EXPIRED = { status: 401, json: JSON.stringify({ error: ERROR }) };
const DONE = { content: [{ type: 'text', text: 'done' }] };

interface McpAnswer {
  readonly status: number;
  readonly challenge: string | undefined;
  readonly session: string;
  readonly body: string;
}

describe('A token at an MCP upstream of the gateway', () => {
  let folder: string;
  let stage: GatewayStage;
  let upstream: McpStandIn;
  let door: ServiceDoor;
  let gateway: StartedGateway;
  let forShop: string;
  let forService: string;
  let forHost: string;
  /** The renewal of `forShop`. */
  let renewed: string;
  /** A token like `forShop`, but for five minutes in place of ten. */
  let shorter: string;
  /** Maps the responses of running calls to what ends them. */
  const running = new Map<ServerResponse, () => void>();
  let answersAtOnce = true;
  const stops: Awaited<ReturnType<typeof stop>>[] = [];
  /** Requests of the gateway for the list of stops. */
  let listed = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-tokens-'));
    const claims = { iss: ISSUER, sub: 'bot' };
    const audience = `${PUBLIC_URL}/shop/mcp`;
    const { keys, tokens } = await signedTokens(
      { ...claims, aud: audience },
      { ...claims, aud: 'governance' },
      { ...claims, aud: `https://${SHOP_HOST}/mcp` },
      { ...claims, aud: audience, jti: 'renewed' },
      { ...claims, aud: audience, exp: Math.floor(Date.now() / 1_000) + 300 },
    );
    [forShop = '', forService = '', forHost = '', renewed = '', shorter = ''] = tokens.map(({ EdDSA = '' }) => EdDSA);
    const issuer = {
      ...{ issuer: ISSUER, audience: 'governance', gatewayAudiences: [audience], jwks: 'keys.json' },
      ...{ agents: ['bot'], scopes: ['execute'] },
    };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    stage = await openStage({ TOKEN_ISSUERS: join(folder, 'issuers.json') });
    upstream = await startMcpStandIn(({ response, reply }) => {
      if (answersAtOnce) reply(DONE);
      else running.set(response, () => reply(DONE));
      response.on('close', () => running.delete(response));
    });
    door = await openDoor(stage.app.url);
    const shop = { mcp: `${upstream.url}/mcp`, hosts: [SHOP_HOST], credentials: [VENDOR_CREDENTIAL], timeout: 'PT10M' };
    gateway = await startGateway(stage, { shop }, { file: { publicUrl: PUBLIC_URL, service: door.url } });
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await upstream.close();
    await door.close();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  function post(message: object, headers: Readonly<Record<string, string>>, path: string): Promise<McpAnswer> {
    const { port, hostname } = new URL(gateway.url);
    const accepted = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    return new Promise((resolve, reject) => {
      const options = { host: hostname, port, path, method: 'POST', headers: { ...accepted, ...headers } };
      sendRequest(options, (response) => {
        const challenge = response.headers['www-authenticate'];
        const session = String(response.headers['mcp-session-id']);
        const status = response.statusCode ?? 0;
        void text(response).then((body) => resolve({ status, challenge, session, body }), reject);
      })
        .on('error', reject)
        .end(JSON.stringify(message));
    });
  }

  /** Opens a session with `forShop`. Returns the headers of its requests, except the token. */
  async function openSession(): Promise<Record<string, string>> {
    const host = { Host: new URL(PUBLIC_URL).host };
    const { session } = await post(INITIALIZE, { ...bearer(forShop), ...host }, '/shop/mcp');
    return { ...host, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': VERSION };
  }

  /** Calls a tool in a new session; returns the answer to what begins the session if that is refused. */
  async function call(token: string, path: string, host: string): Promise<McpAnswer> {
    const headers = { ...bearer(token), Host: host };
    const first = await post(INITIALIZE, headers, path);
    if (first.status !== 200) return first;
    return post(CALL, { ...headers, 'Mcp-Session-Id': first.session, 'MCP-Protocol-Version': VERSION }, path);
  }
  const callByName = (token: string): Promise<McpAnswer> => call(token, '/shop/mcp', new URL(PUBLIC_URL).host);
  const callByHost = (token: string): Promise<McpAnswer> => call(token, '/mcp', SHOP_HOST);

  it("is the service's own, or is made for the public URL with the name of the upstream", async () => {
    for (const token of [forShop, forService]) {
      const { status, body } = await callByName(token);
      expect([status, body]).toEqual([200, expect.stringContaining('done')]);
    }
  });

  it("is the service's own at the upstream's host", async () => {
    const { status, body } = await callByHost(forService);
    expect([status, body]).toEqual([200, expect.stringContaining('done')]);
    for (const token of [forShop, forHost]) {
      const refused = await callByHost(token);
      expect([refused.status, refused.challenge]).toEqual([
        401,
        `Bearer resource_metadata="https://${SHOP_HOST}/.well-known/oauth-protected-resource/mcp", scope="execute"`,
      ]);
    }
  });

  /** Makes a stop, and waits until the gateway has read the list of stops for it. */
  async function stopActions(actions: readonly string[]): Promise<void> {
    const before = listed;
    stops.push(await stop(stage.app, { agentId: stage.agentId, actions }));
    await until('the gateway reads the list of stops', () => listed > before);
  }

  it('keeps its running calls at its rate limit, except those that a stop covers', async () => {
    answersAtOnce = false;
    const answer = callByName(forShop);
    await until('the call runs', () => running.size === 1);
    const [execution] = await stage.executions('&outcome=authorized');
    door.faultFor = (path) => {
      if (path.startsWith('/api/v1/stops')) listed += 1;
      return path.startsWith('/api/v1/policies/evaluate') ? 429 : null;
    };
    await stopActions(['read']);
    await stopActions(['refund']);
    expect((await stage.execution(String(execution?.id))).outcome).toBe('authorized');
    expect(running.size).toBe(1);
    await stopActions(['wr*']);
    expect((await answer).body).toContain('Somebody stopped the agent');
    expect((await stage.ended(String(execution?.id))).failureReason).toContain('Somebody stopped the agent');
    for (const active of stops) await lift(stage.app, active);
  });

  it('is what the service is asked with about a running call once it has renewed that of the call, unless it ends earlier', async () => {
    answersAtOnce = false;
    const session = await openSession();
    const answer = post(CALL, { ...bearer(forShop), ...session }, '/shop/mcp');
    await until('the call runs', () => running.size === 1);
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    for (const token of [renewed, shorter])
      expect((await post(ping, { ...bearer(token), ...session }, '/shop/mcp')).status).toBe(200);
    const askedWith: unknown[] = [];
    door.faultFor = (path, { authorization }) => {
      if (path.startsWith('/api/v1/policies/evaluate')) askedWith.push(authorization);
      return null;
    };
    const active = await stop(stage.app, { agentId: stage.agentId, actions: ['read'] });
    await until('the service is asked', () => askedWith.length > 0);
    expect(askedWith).toEqual([`Bearer ${renewed}`]);
    for (const end of running.values()) end();
    expect((await answer).body).toContain('done');
    await lift(stage.app, active);
  });

  it('gives way to one that ends earlier once the service refuses it, as after a change of the issuer’s keys', async () => {
    answersAtOnce = true;
    const session = await openSession();
    door.faultFor = (_path, { authorization }) => (authorization === `Bearer ${forShop}` ? EXPIRED : null);
    const callShorter = (id: number): Promise<McpAnswer> =>
      post({ ...CALL, id }, { ...bearer(shorter), ...session }, '/shop/mcp');
    expect((await callShorter(1)).body).toContain('write was not run');
    expect((await callShorter(2)).body).toContain('done');
    door.faultFor = () => null;
  });

  it('has to come again, if it ends while its call waits', async () => {
    const session = await openSession();
    const answer = post({ ...CALL, params: { name: 'refund' } }, { ...bearer(forShop), ...session }, '/shop/mcp');
    const pending = async () => (await stage.executions('&outcome=pending_approval'))[0];
    await until('the call waits', async () => (await pending()) !== undefined);
    door.faultFor = (path) => (/^\/api\/v1\/(?:agents|executions)\//.test(path) ? EXPIRED : null);
    await stage.approve(String((await pending())?.decisionId));
    const { body } = await answer;
    door.faultFor = () => null;
    expect(body).toContain('refund was not run: The token has expired. The key or token is that of your request.');
    expect(body).not.toContain('GOVERNANCE_API_KEY');
  });

  it('ends a stream once it is no longer valid, and no call that runs', async () => {
    answersAtOnce = false;
    const session = { ...bearer(forShop), ...(await openSession()) };
    const stream = listen(session);
    const answer = post(CALL, session, '/shop/mcp');
    await until('the call runs', () => running.size === 1);
    door.faultFor = (path) => (path.startsWith('/api/v1/policies/evaluate') ? EXPIRED : null);
    // It is checked every 30 seconds.
    await stream;
    door.faultFor = () => null;
    await sleep(100);
    for (const end of running.values()) end();
    expect((await answer).body).toContain('done');
    const [execution] = await stage.executions('&resourceId=shop/write');
    expect((await stage.ended(String(execution?.id))).outcome).toBe('executed');
  });

  /** Listens to the events of a session, and resolves once the stream has ended. */
  function listen(headers: Readonly<Record<string, string>>): Promise<void> {
    const { port, hostname } = new URL(gateway.url);
    const options = { host: hostname, port, path: '/shop/mcp', headers: { ...headers, Accept: 'text/event-stream' } };
    return new Promise((resolve, reject) => {
      sendRequest(options, (response) => {
        if (response.statusCode !== 200) reject(new Error(`It is ${String(response.statusCode)}.`));
        response
          .on('error', () => undefined)
          .on('close', resolve)
          .resume();
      })
        .on('error', reject)
        .end();
    });
  }
});
