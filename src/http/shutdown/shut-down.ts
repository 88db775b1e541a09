import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../shared/within';
import { ShutdownGate } from './shutdown-gate';

/** Milliseconds without a request after which none is expected any more; and the longest time to wait for that. */
const QUIET = 200;
const LONGEST_GRACE = 1_000;
/** Milliseconds that requests in progress may take to complete. */
const LONGEST_ANSWER = 6_500;
/** Milliseconds for last bytes to reach slow clients. */
const LINGER = 500;

/**
 * Stops in order: requests already received are answered, new ones are refused with 503, connections end, then the
 * ledger writes what it accepted and the database closes. Takes at most about eight seconds before the ledger's part.
 */
export async function shutDown(application: INestApplication<Server>): Promise<void> {
  const gate = application.get(ShutdownGate);
  const server = application.getHttpServer();
  gate.close();
  await untilQuiet(gate);
  const allConnectionsEnded = new Promise((resolve) => server.close(resolve));
  await within(gate.whenEmpty(), LONGEST_ANSWER, undefined);
  server.closeIdleConnections();
  await within(allConnectionsEnded, LINGER, undefined);
  server.closeAllConnections();
  await application.close();
}

/** While clients still send on kept connections, each gets its refusal; closing too early would reset them. */
async function untilQuiet(gate: ShutdownGate): Promise<void> {
  const end = performance.now() + LONGEST_GRACE;
  do {
    await sleep(QUIET / 4);
    // On a busy machine timers run first: let waiting connections be accepted and their requests be read.
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  } while (gate.quietFor < QUIET && performance.now() < end);
}
