import type { Database } from '../../database/database';
import type { GovernedRow } from '../record-kind';
import type { RecordCodec } from '../records/record-codec';
import { arraysOfOne } from '../records/statements';
import { rowsForAnswers } from './answer-rows';
import { readRows } from './row-lists';

/** Values for which one statement reads the rows. */
const AT_ONCE = 500;

/** The rows with one of the values in the column of a unique key, in few statements; by that value. */
export async function rowsAmong(
  { points: connection, dialect }: Database,
  codec: RecordCodec,
  column: string,
  values: readonly string[],
): Promise<Map<string, GovernedRow>> {
  const columns = codec.columns.map(({ name }) => name);
  const found = new Map<string, GovernedRow>();
  for (let start = 0; start < values.length; start += AT_ONCE) {
    const among = [arraysOfOne(values.slice(start, start + AT_ONCE))];
    const rows = await readRows({ connection, dialect, columns }, codec.selectAmong(column), among);
    const decoded = await rowsForAnswers(codec, rows);
    decoded.forEach((row, index) => found.set(String(rows[index]?.[column]), row));
  }
  return found;
}
