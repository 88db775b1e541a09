import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ShutdownGate } from './shutdown-gate';

/** Milliseconds in which requests already on their way on kept connections still get an answer instead of a reset. */
const GRACE = 200;
/** Milliseconds that requests being served may take to their answer. */
const LONGEST_ANSWER = 7_000;
/** Milliseconds for last bytes to reach slow clients. */
const LINGER = 1_000;

/**
 * Stops in order: requests already received are answered, new ones are refused with 503, connections end, then the
 * ledger writes what it accepted and the database closes. Takes at most about eight seconds before the ledger's part.
 */
export async function shutDown(application: INestApplication<Server>): Promise<void> {
  const gate = application.get(ShutdownGate);
  const server = application.getHttpServer();
  gate.close();
  await sleep(GRACE);
  const allConnectionsEnded = new Promise((resolve) => server.close(resolve));
  await firstOf(gate.whenEmpty(), LONGEST_ANSWER);
  server.closeIdleConnections();
  await firstOf(allConnectionsEnded, LINGER);
  server.closeAllConnections();
  await application.close();
}

/** Waits for the promise, but not longer than the milliseconds given. */
async function firstOf(promise: Promise<unknown>, milliseconds: number): Promise<void> {
  const enough = new AbortController();
  const limit = sleep(milliseconds, undefined, { signal: enough.signal }).catch(() => undefined);
  await Promise.race([promise, limit]);
  enough.abort();
}
