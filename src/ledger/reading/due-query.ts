import { quoted } from '../../database/dialect';
import { sizeSql } from '../records/stored-form';
import type { RecordCodec } from '../records/record-codec';

/** A record that is due, and the size in bytes of its long columns. */
export interface DueRow {
  readonly id: string;
  readonly time: string;
  readonly bytes: number;
}

/** Records due at `$1` or before, the earliest first, at most `$4` after the one with the time `$2` and the id `$3`. */
export function dueQuery({ kind, table, columns }: RecordCodec): string {
  if (kind.due === undefined) throw new Error(`A ${kind.subjectType} has no time at which it is due.`);
  const { where } = kind.due;
  const time = quoted(kind.due.timeColumn);
  const long = columns.filter(({ type }) => type === 'json').map(({ name }) => quoted(name));
  return (
    `SELECT "id", ${time} AS "time", ${sizeSql(long)} AS "bytes" FROM ${quoted(table)} ` +
    `WHERE ${where} AND ${time} <= $1 AND (${time}, "id") > ($2, $3) ` +
    `ORDER BY ${time}, "id" LIMIT $4`
  );
}
