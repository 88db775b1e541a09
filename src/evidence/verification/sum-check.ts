import { takenAmounts, UsedSums } from '../../governance/policies/limits/recorded-uses';
import type { Database } from '../../ledger/database/database';
import type { SqlConnection, SqlValue } from '../../ledger/database/sql-connection';
import { chunksOf } from '../../ledger/reading/chunks';
import { sumName } from '../../ledger/records/sum-key';
import { fromSnapshot, inParts, type IsAsked } from './parts';

/** Rows that one statement reads. */
const CHUNK = 5_000;

const COUNT = `SELECT count(*) AS "count" FROM "ledger_sums"`;
const SELECT =
  `SELECT "sum", "window", "key", "value" FROM "ledger_sums" WHERE ("sum", "window", "key") > ($1, $2, $3) ` +
  `ORDER BY "sum", "window", "key" LIMIT ${CHUNK}`;

/**
 * In chunks, the names of sums that differ from the entries that they are derived from. All is read from one snapshot, as
 * sums move with the entries.
 */
export function wrongSums(database: Database): AsyncGenerator<string[]> {
  return fromSnapshot(database, async function* (connection) {
    const [{ count = 0 } = {}] = await connection.all<{ count?: SqlValue }>(COUNT);
    yield* inParts(Number(count), (isAsked) => wrongAmong(connection, isAsked));
  });
}

async function* wrongAmong(connection: SqlConnection, isAsked: IsAsked): AsyncGenerator<string[]> {
  const expected = new UsedSums();
  for await (const taken of takenAmounts(connection)) {
    for (const one of taken) if (isAsked(sumName(one.key))) expected.add(one);
    yield [];
  }
  for await (const kept of keptSums(connection)) {
    yield kept.flatMap(({ value, ...key }) => {
      const name = sumName(key);
      return !isAsked(name) || expected.take(name) === value ? [] : [name];
    });
  }
  yield [...expected.names];
}

interface KeptRow {
  readonly sum: string;
  readonly window: string;
  readonly key: string;
  readonly value: SqlValue;
}

function keptSums(connection: SqlConnection): AsyncGenerator<KeptRow[]> {
  return chunksOf(async (last) => {
    const { sum, window, key } = last ?? { sum: '', window: '', key: '' };
    // Bytes, as SQLite allows, come after all texts.
    return typeof sum === 'string' ? connection.all<KeptRow>(SELECT, [sum, window, key]) : [];
  });
}
