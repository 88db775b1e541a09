import type { Database } from '../database/database';
import type { SqlRow } from '../database/sql-connection';
import type { GovernedRow } from '../record-kind';
import { SIZE, type RecordCodec } from '../records/record-codec';
import { readRows } from './row-lists';

/** Values for which one statement reads the rows. */
const AT_ONCE = 250;
/** Bytes of the JSON columns of a row that is read with the others: together they are parsed in one piece. */
const MOST_BYTES = 4 * 1024;
/** Larger rows that one statement reads. */
const LARGE_AT_ONCE = 20;

/** The values of the columns of a unique key. */
type Key = readonly string[];

/** The rows that have one of the keys, in few statements. */
export async function rowsAmong(
  { points: connection, dialect }: Database,
  codec: RecordCodec,
  columns: readonly string[],
  keys: readonly Key[],
): Promise<GovernedRow[]> {
  const { sql, isSized } = codec.selectSmallAmong(columns);
  const source = {
    connection,
    dialect,
    columns: [...codec.columns.map(({ name }) => name), ...(isSized ? [SIZE] : [])],
  };
  const found: GovernedRow[] = [];
  const add = (rows: readonly SqlRow[]): void => {
    for (const row of rows) found.push(codec.decode(row));
  };
  const isSmall = (row: SqlRow): boolean => codec.sizeOf(row) <= MOST_BYTES;
  const large: Key[] = [];
  for (const some of chunksOf(keys, AT_ONCE)) {
    const among = [JSON.stringify(some), ...(isSized ? [MOST_BYTES] : [])];
    const rows = await readRows(source, sql, among);
    add(rows.filter(isSmall));
    for (const row of rows) if (!isSmall(row)) large.push(columns.map((name) => String(row[name])));
  }
  for (const some of chunksOf(large, LARGE_AT_ONCE))
    add(await connection.all(codec.selectAmong(columns), [JSON.stringify(some)]));
  return found;
}

function chunksOf(keys: readonly Key[], size: number): (readonly Key[])[] {
  const chunks: (readonly Key[])[] = [];
  for (let start = 0; start < keys.length; start += size) chunks.push(keys.slice(start, start + size));
  return chunks;
}
