import { isFault } from '../database/database-fault';
import { type Dialect, quoteName, type StorageForms } from '../database/dialect';
import type { SqlRow, SqlSessions, SqlValue } from '../database/sql-connection';
import { storedValue } from '../records/statements';

/** A table to read from, and the columns to read, in this order. */
interface RowSource {
  readonly connection: SqlSessions;
  readonly dialect: Dialect;
  readonly columns: readonly string[];
}

/** A replacement character in a text that was read may stand for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * Reads the rows of a query as the JSON text of lists of values, in column order. One text costs the event loop a
 * fraction of decoding the values row by row. An altered value that is not a text is shown as by `storedValue`.
 */
export async function rowLists(source: RowSource, sql: string, parameters: readonly SqlValue[]): Promise<string> {
  const { storageForms } = source.dialect;
  const ordinary = await ordinaryRows(source, sql, parameters);
  if (ordinary !== null || storageForms === null) return ordinary ?? '[]';
  return storedRows(source, storageForms, [sql, parameters]);
}

/** Reads the rows of a query as one text, which is faster than value by value, and returns them as the driver would. */
export async function readRows(source: RowSource, sql: string, parameters: readonly SqlValue[]): Promise<SqlRow[]> {
  const lists = await ordinaryRows(source, sql, parameters);
  return lists === null ? source.connection.all(sql, parameters) : rowsIn(lists, source.columns);
}

/** Parses the JSON text of lists of values, as `rowLists` returns it, into rows with these columns. */
export function rowsIn<Row = SqlRow>(lists: string, columns: readonly string[]): Row[] {
  return (JSON.parse(lists) as SqlValue[][]).map((values) => {
    const row: SqlRow = {};
    columns.forEach((column, index) => (row[column] = values[index] ?? null));
    return row as Row;
  });
}

type Query = readonly [sql: string, parameters: readonly SqlValue[]];

/** Reads the rows as JSON text; null if a value in the text may differ from the stored value. */
async function ordinaryRows(source: RowSource, sql: string, parameters: readonly SqlValue[]): Promise<string | null> {
  const { storageForms: forms } = source.dialect;
  if (forms === null) return writtenRows(source, sql, parameters);
  const { connection, dialect, columns } = source;
  const hasBytes = columns.map((column) => forms.isBytes(quoteName(column))).join(' OR ');
  const text = `SELECT ${dialect.jsonRows(columns)} AS "lists", max(${hasBytes}) AS "hasBytes" FROM (${sql}) AS chunk`;
  try {
    const [row] = await connection.all<{ lists: string; hasBytes: number | null }>(text, parameters);
    if (row === undefined || row.hasBytes === 1 || row.lists.includes(REPLACEMENT)) return null;
    return row.lists;
  } catch (error) {
    if (!isFault(error, 'programming')) throw error;
    return null;
  }
}

async function storedRows(source: RowSource, forms: StorageForms, [sql, parameters]: Query): Promise<string> {
  const inForms = source.columns.map((column) => `${forms.form(quoteName(column))} AS ${quoteName(column)}`).join(', ');
  const lists = await writtenRows(source, `SELECT ${inForms} FROM (${sql}) AS stored`, parameters);
  return JSON.stringify((JSON.parse(lists) as SqlValue[][]).map((values) => values.map(storedValue)));
}

/**
 * Reads the rows as JSON text. Fails if the database cannot write them as JSON, because altered rows can hold values
 * such as bytes.
 */
async function writtenRows(
  { connection, dialect, columns }: RowSource,
  sql: string,
  parameters: readonly SqlValue[],
): Promise<string> {
  const text = `SELECT ${dialect.jsonRows(columns)} AS "lists" FROM (${sql}) AS chunk`;
  const [row] = await connection.all<{ lists: string | null }>(text, parameters);
  return row?.lists ?? '[]';
}
