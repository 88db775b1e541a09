import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type INestApplication,
  type OnModuleDestroy,
} from '@nestjs/common';
import { setMaxListeners } from 'node:events';
import type { ServerResponse, Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../core/errors/domain-error';
import type { Exchange } from '../request/service-request';
import { withTimeout } from '../../core/concurrency/with-timeout';
import { endApplication } from '../../core/lifecycle/opened-parts';

/** Knows which requests are being served, and admits no more once shutdown begins. */
@Injectable()
export class ShutdownGuard implements CanActivate, OnModuleDestroy {
  private readonly closing = new AbortController();
  /** Aborted when shutdown begins: long-running requests then answer with what they have. */
  readonly signal: AbortSignal = this.closing.signal;
  /**
   * Pending responses; null in a free place. Places are used again: the tables of a set that changes with each request
   * become garbage that keeps later requests alive until V8 collects its old generation.
   */
  private readonly unanswered: (ServerResponse | null)[] = [];
  private readonly freePlaces: number[] = [];
  private onEmpty: (() => void) | null = null;
  private lastArrival = 0;

  constructor() {
    // Every request that waits, and every stream, has a listener on it: Node.js would warn of a leak.
    setMaxListeners(0, this.signal);
  }

  get isClosed(): boolean {
    return this.signal.aborted;
  }

  /** Milliseconds since the gate closed or, if later, since the last request arrived. */
  get quietFor(): number {
    return performance.now() - this.lastArrival;
  }

  /**
   * Counts a request until its response is sent or its client is gone. During shutdown, refuses requests on open
   * connections, so that the client goes elsewhere.
   */
  canActivate(context: ExecutionContext): boolean {
    const [, response] = context.getArgs<Exchange>();
    if (this.isClosed) {
      this.lastArrival = performance.now();
      response.setHeader('Connection', 'close');
      throw unavailable('The service is stopping.');
    }
    const place = this.freePlaces.pop() ?? this.unanswered.length;
    this.unanswered[place] = response;
    response.on('close', () => this.leave(place));
    return true;
  }

  /** Refuses requests from now on; requests in progress close their connection when answered. */
  close(): void {
    this.closing.abort();
    this.lastArrival = performance.now();
    for (const response of this.unanswered) {
      if (response?.headersSent === false) response.setHeader('Connection', 'close');
    }
  }

  /** Closes the gate for a program that closes the application without `shutDown`. */
  onModuleDestroy(): void {
    this.close();
  }

  /** Resolves once every admitted request is answered. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      this.onEmpty = resolve;
      this.resolveWhenEmpty();
    });
  }

  private leave(place: number): void {
    this.unanswered[place] = null;
    this.freePlaces.push(place);
    this.resolveWhenEmpty();
  }

  private resolveWhenEmpty(): void {
    if (this.freePlaces.length === this.unanswered.length) this.onEmpty?.();
  }
}

/** Milliseconds without a request after which no more are expected, and most milliseconds to wait for that. */
const QUIET = 200;
const MAX_GRACE_MS = 1_000;
/** Milliseconds that requests in progress may take to complete. */
const MAX_RESPONSE_MS = 6_500;
/** Milliseconds for the last bytes to reach slow clients. */
const LINGER = 500;

/**
 * Stops in order: answers requests already received, refuses new ones with 503, ends connections; then the ledger
 * writes all accepted commands and the database closes. Takes at most about eight seconds before the ledger's part.
 */
export async function shutDown(application: INestApplication<Server>): Promise<void> {
  const gate = application.get(ShutdownGuard);
  const server = application.getHttpServer();
  gate.close();
  await untilQuiet(gate);
  const allConnectionsEnded = new Promise((resolve) => server.close(resolve));
  await withTimeout(gate.whenEmpty(), MAX_RESPONSE_MS, undefined);
  server.closeIdleConnections();
  await withTimeout(allConnectionsEnded, LINGER, undefined);
  server.closeAllConnections();
  await endApplication(application);
}

/**
 * Waits until clients stop sending on open connections. Each request gets its refusal; closing too early would reset
 * connections.
 */
async function untilQuiet(gate: ShutdownGuard): Promise<void> {
  const end = performance.now() + MAX_GRACE_MS;
  do {
    await sleep(QUIET / 4);
    // On a busy machine, timers run first; these turns let waiting connections be accepted and their requests be read.
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  } while (gate.quietFor < QUIET && performance.now() < end);
}
