import os from 'node:os';
import { POSTGRES_DIALECT } from '../../src/database/postgres/postgres-dialect';
import { PostgresConnection } from '../../src/database/postgres/postgres-connection';
import type { SqlConnection, SqlValue } from '../../src/database/sql-connection';

interface Moved {
  mockRestore(): void;
}

/** The machine's clock alone is set ahead or back by milliseconds. */
export function setClock(distance: number): Moved {
  const now = Date.now.bind(Date);
  return jest.spyOn(Date, 'now').mockImplementation(() => now() + distance);
}

/**
 * So much time seems to have gone by, or not to have come yet: for the machine's clock, for its uptime and for the clock of
 * the database's server.
 */
export function moveTime(distance: number): Moved {
  const uptime = os.uptime.bind(os);
  const all: SqlConnection['all'] = Reflect.get(PostgresConnection.prototype, 'all');
  const moved: SqlConnection['all'] = async function <Row>(
    this: SqlConnection,
    sql: string,
    parameters?: readonly SqlValue[],
  ): Promise<Row[]> {
    const rows = (await all.call(this, sql, parameters)) as Row[];
    if (sql !== POSTGRES_DIALECT.clock) return rows;
    return rows.map((row) => Object.assign({}, row, { now: Number(Reflect.get(Object(row), 'now')) + distance }));
  };
  const spies = [
    setClock(distance),
    jest.spyOn(os, 'uptime').mockImplementation(() => uptime() + distance / 1_000),
    jest.spyOn(PostgresConnection.prototype, 'all').mockImplementation(moved),
  ];
  return { mockRestore: () => spies.forEach((spy) => spy.mockRestore()) };
}
