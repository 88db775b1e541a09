import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createAgent, issueKey } from '../../support/application/factories';
import { run } from '../../support/processes/shell';
import { CLI, GOV, textOf } from '../mcp/mcp-clients';
import { loadGatewayModule } from './gateway-modules';
import { connectClient, type McpUpstreamProcess, startMcpUpstream } from './mcp-stage';
import {
  bearer,
  CREDENTIAL,
  type GatewayStage,
  openStage,
  type StartedGateway,
  startGateway,
  VENDOR_CREDENTIAL,
} from './stage';
import { type ReceivedRequest, type StandIn, startStandIn } from './stand-in';

const SESSIONS_OF_ONE_OWNER = 10;
const SESSIONS_OF_ONE_AGENT = 100;
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

describe('The bounds of an MCP upstream', () => {
  let stage: GatewayStage;
  let upstream: McpUpstreamProcess;
  /** The same, but for calls with `silent`, which it never answers. */
  let silent: StandIn;
  let gateway: StartedGateway;
  /** Keys of three agents, which act for others. */
  const keys: string[] = [];

  beforeAll(async () => {
    stage = await openStage();
    for (const name of ['one', 'two', 'three']) {
      const { id: agentId } = await createAgent(stage.app, { name, capabilities: ['*'] });
      const key = { name, scopes: ['execute' as const], agentId, principals: ['user:*'] };
      keys.push((await issueKey(stage.app, key)).secret);
    }
    upstream = await startMcpUpstream();
    const lock = join(stage.folder, 'mcp.lock');
    const header = `Authorization: Bearer ${CREDENTIAL}`;
    const pinned = await run(
      process.execPath,
      [GOV, 'mcp', 'pin', '--lock', lock, '--url', upstream.url, '--header', header, '--name', 'pinned'],
      { environment: {} },
    );
    expect(pinned).toMatchObject({ exitCode: 0 });
    const { servers } = JSON.parse(readFileSync(lock, 'utf8'));
    const { write: _, ...tools } = servers.pinned.tools;
    writeFileSync(
      join(stage.folder, 'fewer.lock'),
      JSON.stringify({ servers: { fewer: { ...servers.pinned, tools } } }),
    );
    silent = await startStandIn((request, response) => void passOn(upstream.url, request, response));
    const shop = { mcp: upstream.url, credentials: [VENDOR_CREDENTIAL] };
    gateway = await startGateway(stage, {
      shop,
      full: shop,
      pinned: { ...shop, lock: 'mcp.lock' },
      fewer: { ...shop, lock: 'fewer.lock' },
      hasty: { ...shop, mcp: `${silent.url}/mcp`, timeout: 'PT2S' },
      small: { ...shop, maxBody: 2_000 },
    });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    await silent.close();
    await upstream.stop();
    await stage.close();
  });

  const actingFor = (key: string | undefined, index: number): Record<string, string> => {
    return { ...bearer(String(key)), 'Governance-On-Behalf-Of': `user:${index}` };
  };
  const ping = async (headers: Readonly<Record<string, string>>, sessionId: string): Promise<number> => {
    const accepting = { ...headers, 'Mcp-Session-Id': sessionId, Accept: 'application/json, text/event-stream' };
    const json = { jsonrpc: '2.0', id: 1, method: 'ping' };
    return (await gateway.call('/full/mcp', { json, headers: accepting })).status;
  };
  const initialize = async (
    headers: Readonly<Record<string, string>>,
    name = 'shop',
  ): Promise<{ status: number; sessionId: string }> => {
    const response = await fetch(`${gateway.url}/${name}/mcp`, {
      method: 'POST',
      headers: { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(INITIALIZE),
    });
    await response.text();
    return { status: response.status, sessionId: String(response.headers.get('Mcp-Session-Id')) };
  };

  it('are 100 sessions of an agent, for whomever it acts; others begin theirs', async () => {
    const first = await initialize(actingFor(keys[0], 0));
    for (let index = 0; index <= SESSIONS_OF_ONE_AGENT / SESSIONS_OF_ONE_OWNER; index += 1) {
      const headers = actingFor(keys[0], index);
      const answers = await Promise.all(Array.from({ length: SESSIONS_OF_ONE_OWNER }, () => initialize(headers)));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    const ended = await initialize({ ...actingFor(keys[0], 0), 'Mcp-Session-Id': first.sessionId });
    expect(ended.status).toBe(404);
    expect((await initialize(actingFor(keys[1], 0))).status).toBe(200);
  });

  it('are 200 sessions: one more ends the longest idle one of the agent that has most', async () => {
    const fill = async (key: string | undefined, others: number): Promise<void> => {
      for (let index = 1; index <= others / SESSIONS_OF_ONE_OWNER; index += 1) {
        const headers = actingFor(key, index);
        await Promise.all(Array.from({ length: SESSIONS_OF_ONE_OWNER }, () => initialize(headers, 'full')));
      }
    };
    const [one, two, three] = keys;
    const spared = await initialize(actingFor(two, 0), 'full');
    const idle = await initialize(actingFor(one, 0), 'full');
    for (const key of [one, two]) await fill(key, SESSIONS_OF_ONE_AGENT - SESSIONS_OF_ONE_OWNER);
    // One gets a hundred, two 99, and three the last one.
    for (let count = 1; count < SESSIONS_OF_ONE_OWNER; count += 1) await initialize(actingFor(one, 0), 'full');
    for (let count = 2; count < SESSIONS_OF_ONE_OWNER; count += 1) await initialize(actingFor(two, 0), 'full');
    for (const _ of ['200th', '201st']) expect((await initialize(actingFor(three, 0), 'full')).status).toBe(200);
    expect(await ping(actingFor(one, 0), idle.sessionId)).toBe(404);
    expect(await ping(actingFor(two, 0), spared.sessionId)).toBe(200);
  });

  it('are 200 sessions: one more is 503 while all of them answer requests', async () => {
    const { Sessions } = await loadGatewayModule('mcp/sessions');
    const { McpServer } = createRequire(join(CLI, 'package.json'))('@modelcontextprotocol/server');
    const sessions = new Sessions({ ofOneOwner: 2, ofOneAgent: 2, all: 2 });
    const send = (agentId: string, message: object, sessionId?: string): Promise<Response> => {
      const headers = {
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        ...(sessionId !== undefined && { 'Mcp-Session-Id': sessionId }),
      };
      const open = (): Promise<{ server: never; onEnd: () => void }> => {
        const server = new McpServer({ name: 'slow', version: '1' }, { capabilities: { tools: {} } });
        server.server.setRequestHandler('tools/list', () => new Promise(() => undefined));
        return Promise.resolve({ server: server as never, onEnd: () => undefined });
      };
      const request = new Request('http://gateway/mcp', { method: 'POST', headers });
      return sessions.answer({ request, message, agentId, owner: agentId, open });
    };
    for (const agentId of ['a', 'b']) {
      const sessionId = String((await send(agentId, INITIALIZE)).headers.get('Mcp-Session-Id'));
      await send(agentId, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, sessionId);
    }
    expect((await send('c', INITIALIZE)).status).toBe(503);
    expect(sessions.count).toBe(2);
    await sessions.close();
  });

  it('are 1,000 levels of a message', async () => {
    const deep = JSON.parse('['.repeat(3_000) + ']'.repeat(3_000)) as unknown;
    const capabilities = { experimental: { deep: { deep } } };
    const json = { ...INITIALIZE, params: { ...INITIALIZE.params, capabilities } };
    const { status, error } = await gateway.call('/shop/mcp', { json });
    expect([status, error?.message]).toEqual([400, 'The body is nested more than 1000 levels deep.']);
  });

  it('are 10,000 values of a message', async () => {
    const { status, error } = await gateway.call('/shop/mcp', { json: { ...INITIALIZE, more: Array(10_000).fill(1) } });
    expect([status, error?.message]).toEqual([400, expect.stringContaining('at most 10000 values')]);
  });

  it('are one message in each turn, of those that are there together', async () => {
    const { readMessage } = await loadGatewayModule('mcp/client-message');
    const { inTurns } = await loadGatewayModule('request/turns');
    const message = { jsonrpc: '2.0', id: 1, method: 'ping', params: { text: 'x'.repeat(100_000), none: null } };
    const bytes = Buffer.from(JSON.stringify(message));
    let turn = 0;
    const turns: number[] = [];
    const readings = Array.from({ length: 10 }, async (_, index) => {
      const read = await inTurns(readMessage(bytes), { agentId: `agent-${index % 2}` });
      turns.push(turn);
      return read;
    });
    while (turns.length < readings.length) {
      await new Promise(setImmediate);
      turn += 1;
    }
    expect(new Set(turns).size).toBe(readings.length);
    const { none: _, ...params } = message.params;
    expect(await Promise.all(readings)).toEqual(readings.map(() => ({ ...message, params })));
  });

  it('hold back what is not as it was pinned', async () => {
    const call = async (name: string, tool: string): Promise<{ tools: string[]; text: string }> => {
      const { client } = await connectClient(`${gateway.url}/${name}/mcp`, bearer(stage.key));
      const tools = (await client.listTools()).tools.map((listed) => listed.name);
      const text = textOf(await client.callTool({ name: tool, arguments: { pinned: name } }));
      await client.close();
      return { tools, text };
    };
    expect(await call('pinned', 'write')).toEqual({ tools: ['read', 'write', 'refund'], text: '{"pinned":"pinned"}' });
    const held = await call('fewer', 'write');
    expect(held.tools).toEqual(['read', 'refund']);
    expect(held.text).toContain('write was not run');
    expect(upstream.ran()).not.toContain('write {"pinned":"fewer"}');
  });

  it('end a call whose answer does not begin in time, with an unknown outcome', async () => {
    const { id: agentId } = await createAgent(stage.app, { name: 'hasty', capabilities: ['*'] });
    const { secret } = await issueKey(stage.app, { name: 'hasty', scopes: ['execute'], agentId });
    const { client } = await connectClient(`${gateway.url}/hasty/mcp`, bearer(secret));
    const result = await client.callTool({ name: 'write', arguments: { silent: true } });
    expect(textOf(result)).toContain('It is not known what write has done');
    await client.close();
    const [execution] = await stage.executions(`&agentId=${agentId}`);
    expect(await stage.ended(String(execution?.id))).toMatchObject({ outcome: 'failed', reason: 'outcome_unknown' });
  });

  it('refuse a request that is larger than maxBody', async () => {
    const json = { ...INITIALIZE, more: 'x'.repeat(2_000) };
    const { status } = await gateway.call('/small/mcp', { json });
    expect(status).toBe(413);
    const { status: smaller } = await gateway.call('/small/mcp', {
      ...{ json: INITIALIZE, headers: { Accept: 'application/json, text/event-stream' } },
    });
    expect(smaller).toBe(200);
  });
});

async function passOn(url: string, request: ReceivedRequest, response: ServerResponse): Promise<void> {
  const { method, headers, body } = request;
  if (method === 'GET') response.writeHead(405).end();
  if (method === 'GET' || body.includes('"silent"')) return;
  const names = ['authorization', 'content-type', 'accept', 'mcp-session-id', 'mcp-protocol-version'];
  const passed = names.flatMap((name): [string, string][] => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  const answer = await fetch(url, { method, headers: passed, ...(body !== '' && { body }) });
  const type = answer.headers.get('content-type');
  response.writeHead(answer.status, { ...(type !== null && { 'Content-Type': type }) }).end(await answer.text());
}
