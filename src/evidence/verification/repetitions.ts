import { quoted } from '../../ledger/database/dialect';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import type { RecordCodec } from '../../ledger/records/record-codec';

/** Records that one statement reads. */
const CHUNK = 5_000;
/** Before the first sequence that drivers do not round. */
const BEFORE_ALL = Number.MIN_SAFE_INTEGER - 1;

interface Repetition {
  readonly id: SqlValue;
  readonly place: number;
  readonly differs: number;
}

/** In chunks, the ids of records of a kind whose columns differ from those that they repeat. */
export async function* wrongRepetitions(
  connection: Pick<SqlConnection, 'all'>,
  { table, kind: { repeats } }: Pick<RecordCodec, 'table' | 'kind'>,
): AsyncGenerator<string[]> {
  if (repeats === undefined) return;
  const differences = repeats.columns.map((name) => `live.${quoted(name)} IS DISTINCT FROM own.${quoted(name)}`);
  const sql =
    `SELECT live."id", live."createdSequence" AS "place", CASE WHEN ${differences.join(' OR ')} THEN 1 ELSE 0 END AS "differs" ` +
    `FROM ${quoted(table)} AS live LEFT JOIN ${quoted(repeats.table)} AS own ON own."id" = live.${quoted(repeats.by)} ` +
    `WHERE live."createdSequence" > $1 ORDER BY live."createdSequence" LIMIT ${CHUNK}`;
  for (let after = BEFORE_ALL; ;) {
    const rows: Repetition[] = await connection.all<Repetition>(sql, [after]);
    yield rows.filter(({ differs }) => differs > 0).map(({ id }) => String(id));
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.place;
  }
}
