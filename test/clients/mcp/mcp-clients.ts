import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';

export const CLI = join(ROOT, 'clients', 'cli');
export const GOV = join(CLI, 'dist', 'cli', 'src', 'main.js');
export const TOOL_SERVER = join(__dirname, 'tool-server.mjs');

export type Era = 'legacy' | 'modern';
export type Way = 'stdio' | 'http';

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
}

/** A question from a server to the user of a client. */
export interface Elicitation {
  readonly mode?: string;
  readonly message: string;
  readonly url?: string;
}

/** The part of the official SDK's client that these tests use. */
export interface McpClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(
    call: { name: string; arguments?: Record<string, unknown> },
    options?: {
      signal?: AbortSignal;
      timeout?: number;
      onprogress?: (step: { progress: number; message?: string }) => void;
    },
  ): Promise<ToolResult>;
  getPrompt(prompt: { name: string; arguments?: Record<string, string> }): Promise<object>;
  readResource(resource: { uri: string }): Promise<object>;
  setRequestHandler(method: string, handler: (request: { params: Elicitation }) => Promise<unknown>): void;
  getProtocolEra(): Era;
  getServerCapabilities(): { resources?: { subscribe?: boolean } } | undefined;
  close(): Promise<void>;
}

/** Variable with a key for the gateway, whose scope is `report`. */
export const REPORT_KEY = 'TEST_REPORT_KEY';

const requireFromCli = createRequire(join(CLI, 'package.json'));

export interface ProxyOptions {
  readonly way: Way;
  readonly era: Era;
  /** The file in which the server records what it ran. */
  readonly runs: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly words?: readonly string[];
  /** The test's own server; only over pipes to the proxy. */
  readonly server?: string;
  /** The names of its tools, unless it is the test's own. */
  readonly tools?: readonly string[];
  /** The kinds of questions that the client supports. */
  readonly elicitation?: 'form' | 'url';
}

/** A client of `gov mcp` over pipes, or, all over HTTP, of the gateway. */
export interface Connection {
  readonly client: McpClient;
  /** The address of the gateway; empty without one. */
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function connectThroughProxy(options: ProxyOptions): Promise<Connection> {
  const { way, era, runs, environment, words = [], elicitation } = options;
  const { Client, StreamableHTTPClientTransport } = requireFromCli('@modelcontextprotocol/client');
  const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
  const capabilities = elicitation === undefined ? {} : { elicitation: { [elicitation]: {} } };
  const client: McpClient = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, capabilities });
  const toolServer = [TOOL_SERVER, CLI, runs, way, era, ...(options.tools ?? [])];
  if (way === 'stdio') {
    const { StdioClientTransport } = requireFromCli('@modelcontextprotocol/client/stdio');
    const env = { ...process.env, ...environment };
    const target = options.server === undefined ? ['--', process.execPath, ...toolServer] : ['--url', options.server];
    const args = [GOV, 'mcp', ...words, ...target];
    const rest = { env, stderr: 'ignore', maxBufferSize: 50_000_000 };
    await client.connect(new StdioClientTransport({ command: process.execPath, args, ...rest }));
    return { client, url: '', close: () => client.close() };
  }
  const server = await start(toolServer, {}, 'stdout', /^(http\S+)\n/);
  const folder = mkdtempSync(join(tmpdir(), 'gov-mcp-gateway-'));
  const [hold] = words.slice(words.indexOf('--hold')).slice(1);
  const shop = { mcp: server.match, ...(words.includes('--hold') && { hold: `PT${hold}S` }) };
  const file = join(folder, 'gateway.json');
  const { GOVERNANCE_URL: service, GOVERNANCE_API_KEY: key, [REPORT_KEY]: reportKey } = environment;
  writeFileSync(file, JSON.stringify({ listen: '127.0.0.1:0', service, journal: './journal', upstreams: { shop } }));
  const gateway = await start(
    [GOV, 'gateway', file],
    { ...environment, GOVERNANCE_API_KEY: reportKey },
    'stdout',
    /Listening on (http[^"]+)/,
  );
  const url = `${gateway.match}/shop/mcp`;
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const close = async (): Promise<void> => {
    await client.close();
    for (const { program } of [gateway, server]) await ended(program);
    rmSync(folder, { recursive: true });
  };
  return { client, url, close };
}

/** Starts a program, and waits for the line it prints when it is ready. */
async function start(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
  stream: 'stdout' | 'stderr',
  expected: RegExp,
): Promise<{ program: ChildProcess; match: string }> {
  const program = spawn(process.execPath, words, { env: { ...process.env, ...environment } });
  let text = '';
  const match = await new Promise<string>((resolve, reject) => {
    program[stream].setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const firstGroup = expected.exec(text)?.[1];
      if (firstGroup !== undefined) resolve(firstGroup);
    });
    program.once('close', () => reject(new Error(`It ended: ${text}`)));
  });
  return { program, match };
}

async function ended(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null) return;
  const closing = new Promise((resolve) => program.once('close', resolve));
  program.kill('SIGTERM');
  await closing;
}

export function textOf({ content }: ToolResult): string {
  return content.map(({ text }) => text).join('\n');
}
