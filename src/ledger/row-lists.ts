import { DatabaseFault } from '../database/database-fault';
import type { Dialect } from '../database/dialect';
import type { SqlConnection, SqlValue } from '../database/sql-connection';

/** Where rows are read, and which of their columns, in this order. */
export interface RowSource {
  readonly connection: SqlConnection;
  readonly dialect: Dialect;
  readonly columns: readonly string[];
}

/**
 * The rows of a query as the JSON text of lists of values, in the order of the columns. One text costs the event loop a
 * fraction of what the values of as many rows do.
 */
export async function rowLists(source: RowSource, sql: string, parameters: readonly SqlValue[]): Promise<string> {
  try {
    return await writtenRows(source, sql, parameters);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const rows = await source.connection.all(sql, parameters);
    return JSON.stringify(rows.map((row) => source.columns.map((name) => row[name] ?? null)));
  }
}

/** As `rowLists`, but fails where the database cannot write the rows: see `isUnwritable`. */
export async function writtenRows(
  { connection, dialect, columns }: RowSource,
  sql: string,
  parameters: readonly SqlValue[],
): Promise<string> {
  const text = `SELECT ${dialect.jsonRows(columns)} AS "lists" FROM (${sql}) AS piece`;
  const [row] = await connection.all<{ lists: string | null }>(text, parameters);
  return row?.lists ?? '[]';
}

/** Altered rows can hold what the database does not write as JSON, such as bytes. */
export function isUnwritable(error: unknown): error is DatabaseFault {
  return error instanceof DatabaseFault && error.kind === 'programming';
}
