import { DatabaseFault } from '../database/database-fault';
import type { Dialect } from '../database/dialect';
import type { SqlConnection, SqlValue } from '../database/sql-connection';

/**
 * The rows of a query as the JSON text of lists of values, in the order of the columns. One text costs the event loop a
 * fraction of what the values of as many rows do.
 */
export async function rowLists(
  connection: SqlConnection,
  dialect: Dialect,
  columns: readonly string[],
  sql: string,
  parameters: readonly SqlValue[],
): Promise<string> {
  try {
    const text = `SELECT ${dialect.jsonRows(columns)} AS "lists" FROM (${sql}) AS piece`;
    const [row] = await connection.all<{ lists: string | null }>(text, parameters);
    return row?.lists ?? '[]';
  } catch (error) {
    if (!(error instanceof DatabaseFault) || error.kind !== 'programming') throw error;
    // Altered rows can hold what the database does not write as JSON, such as bytes.
    const rows = await connection.all(sql, parameters);
    return JSON.stringify(rows.map((row) => columns.map((name) => row[name] ?? null)));
  }
}
