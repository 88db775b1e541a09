import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { until } from '../../faults/support/watch';
import { CLI, type Era, type McpClient } from '../mcp/mcp-clients';
import { CREDENTIAL } from './stage';

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
