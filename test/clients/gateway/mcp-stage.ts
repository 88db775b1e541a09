import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { CLI, type Era, type McpClient } from '../mcp/mcp-clients';
import { CREDENTIAL } from './stage';
import { type ReceivedRequest, type StandIn, startStandIn } from './stand-in';

/** An MCP server in a process of its own. */
export interface McpUpstreamProcess {
  readonly url: string;
  /** Calls of tools so far, such as `write {"amount":1}`. */
  ran(): string[];
  stop(): Promise<void>;
}

export async function startMcpUpstream(): Promise<McpUpstreamProcess> {
  const program: ChildProcess = spawn(process.execPath, [join(__dirname, 'mcp-upstream.mjs'), CLI, CREDENTIAL]);
  let printed = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const ended = once(program, 'close');
  const url = (): string | undefined => /^http\S+/m.exec(printed)?.[0];
  await until('the MCP server listens', () => url() !== undefined || program.exitCode !== null);
  return {
    url: url() ?? printed,
    ran: () => [...printed.matchAll(/^ran (.*)$/gm)].map(([, call]) => String(call)),
    stop: async () => {
      program.kill('SIGTERM');
      await ended;
    },
  };
}

export interface McpConnection {
  readonly client: McpClient;
  readonly sessionId: string | undefined;
}

const requireFromCli = createRequire(join(CLI, 'package.json'));

/** Connects the official SDK's client to an upstream of the gateway. */
export async function connectClient(
  url: string,
  headers: Readonly<Record<string, string>>,
  era: Era = 'legacy',
): Promise<McpConnection> {
  const { Client, StreamableHTTPClientTransport } = requireFromCli('@modelcontextprotocol/client');
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const client: McpClient = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, sessionId: transport.sessionId };
}

/** A request to a server that the policies govern. */
export interface GovernedMessage {
  readonly method: string;
  readonly params: { readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> };
  /** Answers with a result, as JSON text or as a value. */
  readonly reply: (result: unknown) => void;
  readonly response: ServerResponse;
  readonly request: ReceivedRequest;
}

/** Methods that the policies govern. */
const GOVERNED = ['tools/call', 'prompts/get', 'resources/read'];
export const NOTE = 'note://vendor/a';
const CAPABLE = {
  capabilities: { tools: {}, prompts: {}, resources: {} },
  serverInfo: { name: 'vendor', version: '1' },
};
const LISTS: Readonly<Record<string, object>> = {
  'tools/list': { tools: [{ name: 'write', inputSchema: { type: 'object' } }] },
  'prompts/list': { prompts: [{ name: 'hello' }] },
  'resources/list': { resources: [{ uri: NOTE, name: 'a' }] },
  'resources/templates/list': { resourceTemplates: [] },
  ping: {},
};

/** An MCP server in this process that answers governed requests as a test says. */
export interface McpStandIn extends StandIn {
  /** Its governed requests so far. */
  governed(): ReceivedRequest[];
}

interface McpStandInOptions {
  readonly session?: () => string | null;
  readonly lists?: Readonly<Record<string, object>>;
  readonly listen?: (response: ServerResponse) => void;
  readonly take?: (response: ServerResponse) => void;
}

/**
 * @param answer answers a request
 * @param session the id of the only session that the server knows; null without sessions
 * @param lists results by method, in place of its own
 * @param take takes the response to an answer to a request of the server
 * @param listen takes the response of a client that listens; by default the server has no such stream
 */
export async function startMcpStandIn(
  answer: (message: GovernedMessage) => void,
  {
    session = () => null,
    lists = {},
    listen = (response) => void response.writeHead(405).end(),
    take = (response) => void response.writeHead(202).end(),
  }: McpStandInOptions = {},
): Promise<McpStandIn> {
  const standIn = await startStandIn((request, response) => {
    if (request.method !== 'POST') {
      listen(response);
      return;
    }
    const { id, method, params } = JSON.parse(request.body);
    const sessionId = session();
    const reply = (result: unknown, headers: Readonly<Record<string, string>> = {}): void => {
      const text = typeof result === 'string' ? result : JSON.stringify(result);
      response.writeHead(200, { 'Content-Type': 'application/json', ...headers });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`);
    };
    const result = lists[method] ?? LISTS[method];
    if (method === undefined) take(response);
    else if (method === 'initialize') {
      const headers = sessionId === null ? {} : { 'Mcp-Session-Id': sessionId };
      reply({ protocolVersion: params.protocolVersion, ...CAPABLE }, headers);
    } else if (sessionId !== null && request.headers['mcp-session-id'] !== sessionId)
      response.writeHead(404).end('There is no such session.');
    else if (GOVERNED.includes(method)) answer({ method, params, reply, response, request });
    else if (result !== undefined) reply(result);
    else response.writeHead(id === undefined ? 202 : 404).end();
  });
  return {
    ...standIn,
    governed: () =>
      standIn.received.filter(({ body }) => body !== '' && GOVERNED.includes(JSON.parse(body).method as string)),
  };
}
