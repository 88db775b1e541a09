import type { Dialect } from '../database/dialect';
import type { SqlConnection, SqlValue } from '../database/sql-connection';
import {
  beyondChunksSql,
  lastNameSql,
  rowsChunkSql,
  SELECT_COUNTER,
  unusedCountersSql,
  valuesChunkSql,
  type CountedRows,
  type CountedValues,
} from './counter-queries';

/** Before the first sequence that drivers do not round. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

/** Where to read counters and what they count, and how many rows at once. */
export interface CounterSource {
  readonly connection: Pick<SqlConnection, 'all'>;
  readonly dialect: Dialect;
  readonly chunkRows: number;
}

interface RowsChunk {
  readonly last: number | null;
  readonly counted: number | null;
}

interface ValueOfChunk {
  readonly place: string;
  readonly name: string;
  readonly counted: number;
  readonly last: number;
  readonly value: SqlValue;
}

/** In chunks, the names of wrong counters of rows. The connection must show a single snapshot throughout. */
export async function* wrongRowCounters(source: CounterSource, rows: CountedRows): AsyncGenerator<string[]> {
  const { connection, chunkRows } = source;
  let total = 0;
  for (let after = BEFORE_ALL; ;) {
    const [chunk] = await connection.all<RowsChunk>(rowsChunkSql(rows, chunkRows), [after]);
    const last = chunk?.last ?? null;
    if (last === null) break;
    total += Number(chunk?.counted);
    after = last;
    yield [];
  }
  const [counter] = await connection.all<{ value: SqlValue }>(SELECT_COUNTER, [rows.counter]);
  if (!saysSo(counter?.value ?? null, total)) yield [rows.counter];
}

/** The same for counters of values: those of existing values, then those of values that no row has. */
export async function* wrongValueCounters(source: CounterSource, values: CountedValues): AsyncGenerator<string[]> {
  const { connection, dialect, chunkRows } = source;
  const sql = valuesChunkSql(values, dialect, chunkRows);
  // More rows with the last value may follow.
  let open: ValueOfChunk | null = null;
  for (;;) {
    const chunk: ValueOfChunk[] = await connection.all(sql, [open?.place ?? null, open?.last ?? BEFORE_ALL]);
    const wrong: string[] = [];
    for (const next of chunk) {
      const counted: number = open?.place === next.place ? open.counted + next.counted : next.counted;
      if (open !== null && open.place !== next.place && isWrong(open)) wrong.push(open.name);
      open = { ...next, counted };
    }
    if (chunk.length === 0) break;
    yield wrong;
  }
  if (open !== null && isWrong(open)) yield [open.name];
  // List items that cannot be read in order are searched for separately.
  if (!values.isNamed) {
    const beyond = await connection.all<{ name: string }>(beyondChunksSql(values, chunkRows));
    yield [...new Set(beyond.map(({ name }) => name))];
  }
  yield* namesInChunks(source, values.prefix, (isFirst) => unusedCountersSql(values, dialect, isFirst));
}

/** In chunks, the counters that a statement selects from all, or from those with a prefix. */
export async function* namesInChunks(
  { connection, dialect, chunkRows }: CounterSource,
  prefix: string,
  pick: (isFirst: boolean) => string,
): AsyncGenerator<string[]> {
  for (let after: SqlValue = null, isFirst = true; ; isFirst = false) {
    const sql = lastNameSql(dialect, isFirst, prefix, chunkRows);
    const [end]: { last: SqlValue }[] = await connection.all(sql, [after]);
    const last: SqlValue = end?.last ?? null;
    if (last === null) return;
    const picked = await connection.all<{ name: string }>(pick(isFirst), [after, last]);
    yield picked.map(({ name }) => name);
    after = last;
  }
}

function isWrong({ value, counted }: ValueOfChunk): boolean {
  return !saysSo(value, counted);
}

/** A column of SQLite accepts values of any type. A missing counter means zero. */
function saysSo(value: SqlValue, counted: number): boolean {
  return (value ?? 0) === counted;
}
