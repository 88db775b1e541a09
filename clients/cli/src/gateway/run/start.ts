import type { Server } from 'node:http';
import { isIP } from 'node:net';
import { ApprovalWaits } from '../../approval-waits.js';
import type { DigestOptions } from '../../large-values.js';
import { requireUsable, SettingsError } from '../../settings.js';
import { SharedRoom } from '../shared-room.js';
import { Journal } from '../calls/journal.js';
import { KnownCallers } from '../calls/known-callers.js';
import type { OwnKey } from '../calls/own-key.js';
import { Reports } from '../calls/reports.js';
import { RunningCalls } from '../../mcp/running-calls.js';
import { UnreadRoom } from '../../mcp/unread.js';
import { StopEvents } from '../calls/stop-events.js';
import type { GatewayConfig } from '../file/gateway-config.js';
import { createListener, endListener } from '../listener/http-listener.js';
import { type RequestBounds, RequestSlots } from '../request-slots.js';
import { Gateway } from './gateway.js';
import { GatewayState } from './gateway-state.js';
import { GatewayLog } from './log.js';
import { GatewayMetrics } from './metrics.js';
import { readTls, renewTls } from '../listener/tls-files.js';

/**
 * Maximum number of requests that run at a time. An agent is counted as a whole, because it may have many keys and
 * tokens.
 */
const REQUEST_BOUNDS: RequestBounds = {
  all: 1_000,
  ofOneHolder: 100,
  refusal: 'The gateway has as many requests as it takes at a time.',
  refusalOfHolder: 'The agent has as many requests as it may have at a time.',
};
/** Bytes of the bodies of all requests together: 256 MiB. */
const MAX_BODY_BYTES = 256 * 2 ** 20;
/** Maximum number of remembered executions whose approval clients were promised to find, for all agents together. */
const MAX_PROMISES = 10_000;
/** Milliseconds after SIGTERM in which running requests may finish. */
const MAX_END_MS = 10_000;
/** The last milliseconds of that time, in which the remaining requests are ended, answered and reported. */
const MAX_LAST_MS = 1_000;
/** Milliseconds for which the journal is held open for requests that the service has still not answered. */
const MAX_UNANSWERED_MS = 60_000;

interface Address {
  readonly host: string;
  readonly port: number;
}

/** A gateway that serves requests. */
export interface RunningGateway {
  /** Address at which the gateway listens, such as `http://127.0.0.1:8088`. */
  readonly url: string;
  /**
   * Reads the configuration file again, and serves by it from now on.
   * @throws errors of a file that cannot be used: then the old one stays in use
   */
  reload(): Promise<void>;
  /** Ends the gateway: running requests have ten seconds at most. */
  close(): Promise<void>;
}

interface GatewayOptions extends DigestOptions {
  /** The key with the scope `report`. */
  readonly key: string;
}

/**
 * Starts a gateway.
 * @param readConfig reads the file; called again at each reload
 * @throws SettingsError; FolderHeldError if another gateway holds the journal
 */
export async function startGateway(
  readConfig: () => GatewayConfig,
  { key, digestAbove }: GatewayOptions,
): Promise<RunningGateway> {
  requireUsable(key);
  const log = new GatewayLog();
  const config = readConfig();
  const journal = await Journal.open(config.journal);
  if (journal.unreadableLines > 0)
    log.warn(`Lines of the journal that were dropped as unreadable: ${journal.unreadableLines}`);
  const url = config.service.href;
  const ownKey: OwnKey = { isRefused: false };
  const reports = new Reports({ url, key, ownKey, journal, log });
  const slots = new RequestSlots(REQUEST_BOUNDS);
  const parts = {
    ...{ reports, slots, log, digestAbove },
    calls: new RunningCalls(),
    callers: new KnownCallers(),
    waits: new ApprovalWaits(MAX_PROMISES),
    room: new SharedRoom(MAX_BODY_BYTES),
    unread: new UnreadRoom(),
    metrics: new GatewayMetrics({ running: () => slots.count, unreported: () => reports.count }),
  };
  let state = await GatewayState.open(config, log, parts);
  const stops = new StopEvents({ url, key, ownKey, calls: parts.calls, callers: parts.callers, log });
  const gateway = new Gateway(state, { ...parts, ownKey });
  const server = createListener((exchange) => gateway.serve(exchange), readTls(config));
  const metrics = config.metrics === undefined ? null : parts.metrics.createServer();
  const address = await listen(server, config.listen);
  if (metrics !== null && config.metrics !== undefined) await listen(metrics, config.metrics);
  reports.resume();
  void stops.follow();
  const origin = `${config.tls === undefined ? 'http' : 'https'}://${address}`;
  log.info(`Listening on ${origin}`);
  const readAgain = async (): Promise<void> => {
    // The server goes on at its address.
    const next = { ...readConfig(), listen: config.listen };
    // Reports and stops go on at the service that the gateway began with.
    if (next.service.href !== config.service.href)
      throw new SettingsError(
        'Another service needs a restart, so that every call is reported where it was authorised.',
      );
    if ((next.tls === undefined) !== (config.tls === undefined))
      throw new SettingsError('To turn tls on or off, restart the gateway.');
    const tls = readTls(next);
    state = await GatewayState.open(next, log, parts, state);
    renewTls(server, tls);
    await gateway.replaceState(state);
  };
  let reloading: Promise<void> = Promise.resolve();
  return {
    url: origin,
    reload: () => {
      // One at a time: the file that was read last stays in use.
      const reload = reloading.then(readAgain);
      reloading = reload.catch(() => undefined);
      return reload;
    },
    close: async () => {
      log.info('Ending');
      endListener(server);
      metrics?.close();
      const end = performance.now() + MAX_END_MS;
      await within(gateway.settle(), MAX_END_MS - MAX_LAST_MS);
      setTimeout(() => reports.hurry(), MAX_LAST_MS / 4).unref();
      // The clients of running requests get an answer: SDKs repeat a request without one, at another gateway.
      await within(gateway.close(), MAX_LAST_MS / 2);
      stops.close();
      await reports.close(Math.max(0, end - performance.now()));
      server.closeAllConnections();
      metrics?.closeAllConnections();
      // Requests that the service authorises now are not sent, and the next start reports that.
      await within(gateway.idle(), MAX_UNANSWERED_MS);
      await journal.close();
    },
  };
}

function within(promise: Promise<void>, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    promise.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

/** Returns the address with its port. @throws SettingsError if it cannot be listened on */
async function listen(server: Server, { host, port }: Address): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(new SettingsError(`The gateway cannot listen on ${host}:${port}: ${error.message}`)),
    );
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const actual = typeof bound === 'object' && bound !== null ? bound.port : port;
  return `${isIP(host) === 6 ? `[${host}]` : host}:${actual}`;
}
