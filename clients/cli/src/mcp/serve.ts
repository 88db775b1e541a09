import type { McpServer } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GovernanceClient } from '../../../typescript/src/index.js';
import { plain, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { settings, SettingsError } from '../settings.js';
import { LARGEST_MESSAGE, withoutBatches } from './batches.js';
import { overHttp, placeOf, type Served } from './listen.js';
import { plainName, readMapping } from './mapping.js';
import { announceTools, type MakeServer, type ProxyOptions, proxyOf } from './proxy.js';
import { RateLimitLeft } from './rate-limit-left.js';
import { serviceFetch } from './service-fetch.js';
import { StopWatch } from './stop-watch.js';
import { type Target, ToolServer } from './tool-server.js';

const HEADER = /^\s*([\w!#$%&'*+.^`|~-]+)\s*:\s*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\s*$/;

export interface McpOptions extends PrincipalOptions {
  readonly url?: URL;
  readonly header?: readonly string[];
  readonly listen?: string;
  readonly host?: readonly string[];
  readonly map?: string;
  readonly name?: string;
  readonly agent?: string;
  readonly hold: number;
  readonly patience: number;
  readonly timeout: number;
}

/** Serves until its client or its server ends, or it is stopped. @throws SettingsError if it cannot start. */
export async function serveProxy(command: string[], options: McpOptions): Promise<void> {
  const { url, key } = settings();
  const [patience, timeout] = [options.patience * 1_000, options.timeout * 1_000];
  const left = new RateLimitLeft();
  const fetch = left.watching(serviceFetch);
  const governance = new GovernanceClient({ url, key, patience, timeout, fetch });
  const stops = new StopWatch(governance, { url, key, fetch });
  const mapping = readMapping(options.map);
  const tools = new ToolServer(targetOf(command, options));
  const place = options.listen === undefined ? null : placeOf(options.listen, options.host ?? []);
  const given = options.name ?? mapping.server;
  const serverName = given === undefined ? await reached(tools.name()) : plainName(given);
  const { agent, hold, onBehalfOf, run } = options;
  const carrying = new Set<Promise<unknown>>();
  const proxyOptions: ProxyOptions = {
    ...{ governance, serviceUrl: url, agent, mapping, serverName, hold, carrying, left, stops },
    forWhom: { ...(onBehalfOf && { onBehalfOf }), ...(run !== undefined && { run }) },
  };
  const make = proxyOf(tools, proxyOptions, await reached(tools.instructions()));
  const served = place === null ? overStdio(make) : await overHttp(make, place);
  tools.onToolsChanged = served.toolsChanged;
  const stop = async (): Promise<void> => {
    stops.close();
    await served.close();
    await tools.close();
  };
  const endWithServer = async (): Promise<void> => {
    printError('The MCP server ended by itself, so gov mcp ends as well.');
    process.exitCode = 1;
    // Its calls are answered first: a client that only loses the connection would take them for calls that can be repeated.
    await Promise.allSettled(carrying);
    await nextTurn();
    await stop();
  };
  void tools.ended.then(endWithServer);
  if (place === null) {
    process.stdin.once('end', () => void stop());
    process.stdin.once('error', ({ message }) => {
      printError(plain(`The client cannot be read: ${message}`));
      process.exitCode = 1;
      void stop();
    });
    // Once nobody reads, the SDK reads no longer either, and the end of the input would go unnoticed.
    process.stdout.once('error', () => void stop());
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void stop());
}

function overStdio(make: MakeServer): Served {
  const session = randomUUID();
  let current: McpServer | null = null;
  // A client that disconnects must not end this before its calls are reported.
  process.stdout.removeAllListeners('error');
  const { stdin, stdout } = process;
  const lines = withoutBatches(stdin, stdout);
  lines.once('error', (error) => stdin.destroy(error));
  const handle = serveStdio(() => (current = make(session)), {
    transport: new StdioServerTransport(lines, stdout, { maxBufferSize: LARGEST_MESSAGE }),
  });
  const toolsChanged = (): void => {
    if (current !== null) announceTools(current);
  };
  const close = async (): Promise<void> => {
    await handle.close();
    // It would keep the process alive.
    stdin.unpipe().pause();
  };
  return { toolsChanged, close };
}

function targetOf(command: readonly string[], { url, header = [] }: McpOptions): Target {
  if (command.length > 0 && url === undefined) return { command };
  if (command.length === 0 && url !== undefined) return { url, headers: header.map(headerOf) };
  throw new SettingsError('Say which server to stand in front of: gov mcp -- <command…>, or gov mcp --url <server>.');
}

function headerOf(text: string): [name: string, value: string] {
  const [, name, value] = HEADER.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  // It may hold a secret, and MCP clients keep what is written here.
  throw new SettingsError('A --header is "name: value", in one line; this one is not, and is not shown.');
}

/** @throws SettingsError if the server cannot be started or does not speak the protocol. */
async function reached<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError(
      `The MCP server cannot be reached: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
