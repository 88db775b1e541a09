import { isJSONRPCNotification, isJSONRPCResponse } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GovernanceClient, GovernanceError, type KeptResults } from '../../../typescript/src/index.js';
import type { DigestOptions } from '../large-values.js';
import { plain, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { keySource, settings, SettingsError } from '../settings.js';
import { withoutBatches } from './batches.js';
import { ServerEndedError } from './governed-call.js';
import { readMapping } from './mapping.js';
import { OpenRequests } from './open-requests.js';
import { MAX_MESSAGE_BYTES } from './servers/messages.js';
import { Pins } from './servers/pins.js';
import { type MakeServer, type ProxyOptions, proxyOf } from './proxy.js';
import { RateLimitLeft } from './rate-limit-left.js';
import { serviceFetch } from '../service-fetch.js';
import { Servers } from './servers/servers.js';
import { StopWatch } from './stop-watch.js';
import { requireReachable, serversOf, type TargetOptions } from './servers/targets.js';
import { tracedFetch } from './trace-of-call.js';

export interface McpOptions extends PrincipalOptions, TargetOptions, DigestOptions {
  readonly map?: string;
  readonly lock?: string;
  /** The subjects who may answer questions; true if the option names none. */
  readonly ask?: readonly string[] | true;
  readonly results: KeptResults;
  readonly agent?: string;
  readonly hold: number;
  readonly patience: number;
  readonly timeout: number;
}

/** Maximum time in milliseconds that the start waits for the service. */
const MAX_CHECK_MS = 2_000;
/** Time in milliseconds in which a client can read what is left for it at the end. */
const MAX_LAST_OUTPUT_MS = 5_000;
/** Bytes that a client may leave unread before notifications are dropped: more than one answer has. */
const MAX_UNREAD_BYTES = 2 * MAX_MESSAGE_BYTES;
/** The answer to a subscription in the protocol without a handshake, which is a notification. */
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** Serves until its client or its server ends, or it is stopped. @throws SettingsError if it cannot start. */
export async function serveProxy(command: string[], options: McpOptions): Promise<void> {
  const { url, key } = settings();
  const [patience, timeout] = [options.patience * 1_000, options.timeout * 1_000];
  const rateLimit = new RateLimitLeft();
  const fetch = tracedFetch(rateLimit.watching(serviceFetch));
  const governance = new GovernanceClient({ url, key, patience, timeout, fetch });
  const ownAgent = await agentOfKey(governance);
  const stops = new StopWatch(governance, { url, key, fetch });
  const mapping = readMapping(options.map);
  const pins = options.lock === undefined ? null : Pins.read(options.lock);
  const servers = new Servers(await serversOf(command, options, mapping));
  const { agent = ownAgent, hold, onBehalfOf, run, results } = options;
  const activeCalls = new Set<Promise<unknown>>();
  const ended = new AbortController();
  const proxyOptions: ProxyOptions = {
    governance,
    serviceUrl: url,
    agent,
    mapping,
    pins,
    results,
    hold,
    keySource: keySource(),
    activeCalls,
    digestAbove: options.digestAbove,
    left: rateLimit,
    stops,
    ended: ended.signal,
    ...(options.ask !== undefined && { ask: options.ask === true ? ['*'] : options.ask }),
    forWhom: { ...(onBehalfOf && { onBehalfOf }), ...(run !== undefined && { run }) },
  };
  const make = await requireReachable(proxyOf(servers, proxyOptions));
  const closeClient = overStdio(make, servers);
  const stop = async (): Promise<void> => {
    stops.close();
    await closeClient();
    await servers.close();
    await untilSettled(activeCalls);
    // What the client leaves unread would keep this alive.
    setTimeout(() => process.exit(), MAX_LAST_OUTPUT_MS).unref();
  };
  const endWithServer = async (): Promise<void> => {
    printError('The MCP server ended by itself, so gov mcp ends as well.');
    process.exitCode = 1;
    ended.abort(new ServerEndedError());
    // A call that is authorised meanwhile must not start the server again.
    void servers.close();
    // Calls are answered first: a client that only loses the connection would repeat them.
    await untilSettled(activeCalls);
    await stop();
  };
  if (servers.only !== null) servers.only.onEnd = () => void endWithServer();
  process.stdin.once('end', () => void stop());
  process.stdin.once('error', ({ message }) => {
    printError(plain(`The client cannot be read: ${message}`));
    process.exitCode = 1;
    void stop();
  });
  // If nobody reads the output, the SDK stops reading, too, and would not notice the end of the input.
  process.stdout.once('error', () => void stop());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void stop());
}

/** Resolves once no call is left, and the last has its answer. */
async function untilSettled(activeCalls: ReadonlySet<Promise<unknown>>): Promise<void> {
  do {
    await Promise.allSettled(activeCalls);
    // An approved call goes on as another of these.
    await nextTurn();
  } while (activeCalls.size > 0);
}

/**
 * Finds the agent that the key is bound to; undefined if there is none, or the service does not answer, as it may be
 * starting.
 * @throws SettingsError for a key that no call could succeed with: a client would show only that each fails.
 */
async function agentOfKey(governance: GovernanceClient): Promise<string | undefined> {
  try {
    const { agentId, scopes } = await governance.get('/api/v1/me', { signal: AbortSignal.timeout(MAX_CHECK_MS) });
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

/** Serves the client over pipes. @returns a function that ends it */
function overStdio(make: MakeServer, servers: Servers): () => Promise<void> {
  const session = randomUUID();
  // A client that disconnects must not end this before its calls are reported.
  process.stdout.removeAllListeners('error');
  const { stdin, stdout } = process;
  const open = new OpenRequests();
  const lines = withoutBatches(stdin, stdout, open);
  lines.once('error', (error) => stdin.destroy(error));
  const transport = new StdioServerTransport(lines, stdout, { maxBufferSize: MAX_MESSAGE_BYTES });
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    if (isJSONRPCResponse(message)) open.end(message.id);
    else if (message.method !== ACKNOWLEDGED) {
      const isDropped = isJSONRPCNotification(message) && stdout.writableLength > MAX_UNREAD_BYTES;
      return isDropped ? undefined : send(message);
    }
    // The SDK would neither serve nor end until the client has read it.
    stdout.write(`${JSON.stringify(message)}\n`);
  };
  const handle = serveStdio(({ era }) => make(session, servers, era === 'legacy'), { transport });
  return async () => {
    await handle.close();
    // An open input would keep the process alive.
    stdin.unpipe().pause();
  };
}
