import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GovernanceClient, GovernanceError, type KeptResults } from '../../../typescript/src/index.js';
import { plain, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { keySource, settings, SettingsError } from '../settings.js';
import { withoutBatches } from './batches.js';
import { overHttp, placeOf, type Served } from './listen.js';
import { readMapping } from './mapping.js';
import { LARGEST_MESSAGE } from './servers/messages.js';
import { Pins } from './servers/pins.js';
import { type MakeServer, type ProxyOptions, proxyOf } from './proxy.js';
import { RateLimitLeft } from './rate-limit-left.js';
import { serviceFetch } from '../service-fetch.js';
import { Servers } from './servers/servers.js';
import { StopWatch } from './stop-watch.js';
import { reached, serversOf, type TargetOptions } from './servers/targets.js';
import { tracedFetch } from './trace-of-call.js';

export interface McpOptions extends PrincipalOptions, TargetOptions {
  readonly listen?: string;
  readonly host?: readonly string[];
  readonly allowShared?: true;
  readonly map?: string;
  readonly lock?: string;
  readonly results: KeptResults;
  readonly agent?: string;
  readonly hold: number;
  readonly patience: number;
  readonly timeout: number;
}

/** Milliseconds for which the start waits for the service. */
const LONGEST_CHECK = 2_000;

/** Serves until its client or its server ends, or it is stopped. @throws SettingsError if it cannot start. */
export async function serveProxy(command: string[], options: McpOptions): Promise<void> {
  const { url, key } = settings();
  const [patience, timeout] = [options.patience * 1_000, options.timeout * 1_000];
  const left = new RateLimitLeft();
  const fetch = tracedFetch(left.watching(serviceFetch));
  const governance = new GovernanceClient({ url, key, patience, timeout, fetch });
  const ownAgent = await agentOfKey(governance);
  const stops = new StopWatch(governance, { url, key, fetch });
  const mapping = readMapping(options.map);
  const pins = options.lock === undefined ? null : Pins.read(options.lock);
  const { listen, host = [], allowShared = false } = options;
  const place = listen === undefined ? null : placeOf(listen, host, allowShared);
  const servers = new Servers(await serversOf(command, options, mapping));
  const { agent = ownAgent, hold, onBehalfOf, run, results } = options;
  const carrying = new Set<Promise<unknown>>();
  const proxyOptions: ProxyOptions = {
    governance,
    serviceUrl: url,
    agent,
    mapping,
    pins,
    results,
    hold,
    carrying,
    left,
    stops,
    forWhom: { ...(onBehalfOf && { onBehalfOf }), ...(run !== undefined && { run }) },
  };
  const make = await reached(proxyOf(servers, proxyOptions));
  const served = place === null ? overStdio(make, servers) : await overHttp(make, servers, place);
  const stop = async (): Promise<void> => {
    stops.close();
    await served.close();
    await servers.close();
  };
  const endWithServer = async (): Promise<void> => {
    printError('The MCP server ended by itself, so gov mcp ends as well.');
    process.exitCode = 1;
    // Its calls are answered first: a client that only loses the connection would take them for calls that can be repeated.
    await Promise.allSettled(carrying);
    await nextTurn();
    await stop();
  };
  if (servers.only !== null) servers.only.onEnd = () => void endWithServer();
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

/**
 * The agent that the key is bound to; undefined where there is none, or no answer: the service may be starting.
 * @throws SettingsError for a key that no call could succeed with: a client would show only that each fails.
 */
async function agentOfKey(governance: GovernanceClient): Promise<string | undefined> {
  try {
    const { agentId, scopes } = await governance.get('/api/v1/me', { signal: AbortSignal.timeout(LONGEST_CHECK) });
    if (!scopes.some((scope) => scope === 'execute' || scope === 'admin')) throw new SettingsError(noExecute(scopes));
    return agentId ?? undefined;
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    if (error instanceof GovernanceError && error.status === 401)
      throw new SettingsError(`gov mcp does not start: ${plain(error.message)} ${keySource()}`);
    return undefined;
  }
}

function noExecute(scopes: readonly string[]): string {
  const has = scopes.length === 0 ? 'none' : `only ${scopes.join(', ')}`;
  return (
    `gov mcp does not start: the key lacks the scope "execute", without which it can call nothing; it has ${plain(has)}. ` +
    keySource()
  );
}

function overStdio(make: MakeServer, servers: Servers): Served {
  const session = randomUUID();
  // A client that disconnects must not end this before its calls are reported.
  process.stdout.removeAllListeners('error');
  const { stdin, stdout } = process;
  const lines = withoutBatches(stdin, stdout);
  lines.once('error', (error) => stdin.destroy(error));
  const handle = serveStdio(() => make(session, servers), {
    transport: new StdioServerTransport(lines, stdout, { maxBufferSize: LARGEST_MESSAGE }),
  });
  const close = async (): Promise<void> => {
    await handle.close();
    // It would keep the process alive.
    stdin.unpipe().pause();
  };
  return { close };
}
