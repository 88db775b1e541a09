import type { Database } from '../../database/database';
import type { SqlRow } from '../../database/sql-connection';
import type { GovernedRow } from '../record-kind';
import { SIZE, type RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';
import { rowsForAnswers } from './answer-rows';
import { readRows } from './row-lists';

/** Values for which one statement reads the rows. */
const AT_ONCE = 250;
/** Bytes of the JSON columns of a row that is read with the others: together they are parsed in one piece. */
const MOST_BYTES = 4 * 1024;
/** Larger rows that one statement reads. */
const LARGE_AT_ONCE = 20;

/** The rows with one of the values in the column of a unique key, in few statements; by that value. */
export async function rowsAmong(
  { points: connection, dialect }: Database,
  codec: RecordCodec,
  column: string,
  values: readonly string[],
): Promise<Map<string, GovernedRow>> {
  const { sql, isSized } = codec.selectSmallAmong(column);
  const source = {
    connection,
    dialect,
    columns: [...codec.columns.map(({ name }) => name), ...(isSized ? [SIZE] : [])],
  };
  const found = new Map<string, GovernedRow>();
  const add = async (rows: readonly SqlRow[]): Promise<void> => {
    const decoded = await rowsForAnswers(codec, rows);
    decoded.forEach((row, index) => found.set(String(rows[index]?.[column]), row));
  };
  const isSmall = (row: SqlRow): boolean => codec.sizeOf(row) <= MOST_BYTES;
  const large: string[] = [];
  for (const some of chunksOf(values, AT_ONCE)) {
    const among = [arraysOfOne(some), ...(isSized ? [MOST_BYTES] : [])];
    const rows = await readRows(source, sql, among);
    await add(rows.filter(isSmall));
    large.push(...rows.filter((row) => !isSmall(row)).map((row) => String(row[column])));
  }
  for (const some of chunksOf(large, LARGE_AT_ONCE))
    await add(await connection.all(codec.selectAmong(column), [arraysOfOne(some)]));
  return found;
}

function chunksOf(values: readonly string[], size: number): string[][] {
  const chunks: string[][] = [];
  for (let start = 0; start < values.length; start += size) chunks.push(values.slice(start, start + size));
  return chunks;
}
