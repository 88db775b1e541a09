import type { SqlConnection } from '../database/sql-connection';

/** Entries of a piece at most: for questions that few of them answer. */
const PIECE_ENTRIES = 1_000;
/** Where the next entries end, `$3` at most of those after `$1` and up to `$2`. */
const EXTENT_SQL =
  `SELECT max("sequence") AS "last" FROM ` +
  `(SELECT "sequence" FROM "ledger_entries" WHERE "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT $3) AS piece`;

/** Of the entries up to a sequence, in pieces: the sequence before the first of each piece, and that of its last. */
export async function* entryPieces(
  chain: Pick<SqlConnection, 'all'>,
  upTo: number,
): AsyncGenerator<[after: number, last: number]> {
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const [extent] = await chain.all<{ last: number | null }>(EXTENT_SQL, [after, upTo, PIECE_ENTRIES]);
    const last = extent?.last ?? null;
    if (last === null) return;
    yield [after, last];
    after = last;
  }
}
