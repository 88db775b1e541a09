import os from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { POSTGRES_DIALECT } from '../../../src/ledger/database/postgres/postgres-database';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import type { SqlConnection, SqlValue } from '../../../src/ledger/database/sql-connection';

/** Milliseconds by which the clock of the database server appears to be ahead. */
let serverAhead = 0;
/** Statements in progress that query the time of the database server. */
let looks = 0;

const all: SqlConnection['all'] = Reflect.get(PostgresConnection.prototype, 'all');
const watched: SqlConnection['all'] = async function <Row>(
  this: SqlConnection,
  sql: string,
  parameters?: readonly SqlValue[],
): Promise<Row[]> {
  if (sql !== POSTGRES_DIALECT.clock) return (await all.call(this, sql, parameters)) as Row[];
  looks += 1;
  try {
    const rows = (await all.call(this, sql, parameters)) as Row[];
    return rows.map((row) => Object.assign({}, row, { now: Number(Reflect.get(Object(row), 'now')) + serverAhead }));
  } finally {
    looks -= 1;
  }
};
Reflect.set(PostgresConnection.prototype, 'all', watched);

let machineClock: jest.SpyInstance | undefined;
let machineUptime: jest.SpyInstance | undefined;

/** Sets only the machine's clock ahead or back, in milliseconds. */
export async function setClock(distance: number): Promise<void> {
  await restoreTime();
  const now = Date.now.bind(Date);
  machineClock = jest.spyOn(Date, 'now').mockImplementation(() => now() + distance);
}

/**
 * Makes this much time appear to have passed, or not to have passed yet, on the machine's clock, its uptime and the
 * clock of the database server.
 */
export async function moveTime(distance: number): Promise<void> {
  await setClock(distance);
  const uptime = os.uptime.bind(os);
  machineUptime = jest.spyOn(os, 'uptime').mockImplementation(() => uptime() + distance / 1_000);
  serverAhead = distance;
}

/**
 * Restores all clocks once no comparison of two of them is in progress. The service compares them in the background,
 * too: if it read one before the change and the other after it, it would see a jump that never happened.
 */
export async function restoreTime(): Promise<void> {
  do await turn();
  while (looks > 0);
  machineClock?.mockRestore();
  machineUptime?.mockRestore();
  serverAhead = 0;
}
