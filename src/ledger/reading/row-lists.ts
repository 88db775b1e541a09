import { DatabaseFault } from '../../database/database-fault';
import { quoted, type Dialect, type StorageForms } from '../../database/dialect';
import type { SqlConnection, SqlValue } from '../../database/sql-connection';
import { storedValue } from '../records/stored-form';

/** Where rows are read, and which of their columns, in this order. */
export interface RowSource {
  readonly connection: SqlConnection;
  readonly dialect: Dialect;
  readonly columns: readonly string[];
}

/** In a text that was read, it can stand for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * The rows of a query as the JSON text of lists of values, in the order of the columns. One text costs the event loop a
 * fraction of what the values of as many rows do. What altered rows hold in place of a text is shown as `storedValue` does.
 */
export async function rowLists(source: RowSource, sql: string, parameters: readonly SqlValue[]): Promise<string> {
  const { storageForms } = source.dialect;
  if (storageForms === null) return writtenRows(source, sql, parameters);
  return (
    (await ordinaryRows(source, storageForms, [sql, parameters])) ?? storedRows(source, storageForms, [sql, parameters])
  );
}

type Query = readonly [sql: string, parameters: readonly SqlValue[]];

/** Null: there may be something else in a row than what it shows. */
async function ordinaryRows(source: RowSource, forms: StorageForms, [sql, parameters]: Query): Promise<string | null> {
  const { connection, dialect, columns } = source;
  const hasBytes = columns.map((column) => forms.isBytes(quoted(column))).join(' OR ');
  const text = `SELECT ${dialect.jsonRows(columns)} AS "lists", max(${hasBytes}) AS "hasBytes" FROM (${sql}) AS piece`;
  try {
    const [row] = await connection.all<{ lists: string; hasBytes: number | null }>(text, parameters);
    if (row === undefined || row.hasBytes === 1 || row.lists.includes(REPLACEMENT)) return null;
    return row.lists;
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    return null;
  }
}

async function storedRows(source: RowSource, forms: StorageForms, [sql, parameters]: Query): Promise<string> {
  const inForms = source.columns.map((column) => `${forms.form(quoted(column))} AS ${quoted(column)}`).join(', ');
  const lists = await writtenRows(source, `SELECT ${inForms} FROM (${sql}) AS stored`, parameters);
  return JSON.stringify((JSON.parse(lists) as SqlValue[][]).map((values) => values.map(storedValue)));
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
