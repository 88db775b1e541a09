import os from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { POSTGRES_DIALECT } from '../../../src/database/postgres/postgres-dialect';
import { PostgresConnection } from '../../../src/database/postgres/postgres-connection';
import type { SqlConnection, SqlValue } from '../../../src/database/sql-connection';

/** Milliseconds by which the clock of the database's server seems to be ahead. */
let serverAhead = 0;
/** Statements under way that ask the database's server for its time. */
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

/** The machine's clock alone is set ahead or back by milliseconds. */
export async function setClock(distance: number): Promise<void> {
  await restoreTime();
  const now = Date.now.bind(Date);
  machineClock = jest.spyOn(Date, 'now').mockImplementation(() => now() + distance);
}

/**
 * So much time seems to have gone by, or not to have come yet: for the machine's clock, for its uptime and for the clock of
 * the database's server.
 */
export async function moveTime(distance: number): Promise<void> {
  await setClock(distance);
  const uptime = os.uptime.bind(os);
  machineUptime = jest.spyOn(os, 'uptime').mockImplementation(() => uptime() + distance / 1_000);
  serverAhead = distance;
}

/**
 * All clocks show their own time again, once no look at two of them is under way. The service looks in the background too;
 * one that saw the first clock before a change and the second after it would see a jump that never was.
 */
export async function restoreTime(): Promise<void> {
  do await turn();
  while (looks > 0);
  machineClock?.mockRestore();
  machineUptime?.mockRestore();
  serverAhead = 0;
}
