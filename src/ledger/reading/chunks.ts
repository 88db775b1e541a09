import type { SqlSessions, SqlValue } from '../database/sql-connection';

/** Most entries of a range, for queries that few entries satisfy. */
const MAX_ENTRIES = 1_000;

/** Most bytes of texts in a chunk of rows that are read together. */
const CHUNK_BYTES = 1_000_000;

/** Extent of rows that fit in memory together. */
export interface ChunkExtent<Place> {
  readonly count: number;
  readonly last: Place;
  /** Total bytes of their texts. */
  readonly bytes: number;
}

/**
 * Returns the extent of the next rows that fit in memory, at least one; null if there are no more rows.
 * @param sql selects the extent of at most `$3` rows after the place `$1`, up to `$2`
 */
export async function fittingChunk<Place extends SqlValue>(
  chain: Pick<SqlSessions, 'all'>,
  sql: string,
  [after, upTo]: readonly [after: Place, upTo: Place],
  most: number,
): Promise<ChunkExtent<Place> | null> {
  for (let limit = most; ; limit = Math.ceil(limit / 2)) {
    const [extent] = await chain.all<ChunkExtent<Place>>(sql, [after, upTo, limit]);
    if (extent === undefined || extent.count === 0) return null;
    if (extent.bytes <= CHUNK_BYTES || extent.count === 1) return extent;
  }
}

/**
 * Yields all results of a query, in chunks.
 * @param read returns the rows after `last`, or the first rows if `last` is undefined; an empty list at the end
 */
export async function* chunksOf<Row>(read: (last: Row | undefined) => Promise<Row[]>): AsyncGenerator<Row[]> {
  for (let rows = await read(undefined); rows.length > 0; rows = await read(rows.at(-1))) yield rows;
}

/**
 * Yields ranges of at most `MAX_ENTRIES` entries, each as a sequence before its first entry and the sequence of its
 * last entry. If there is an `action`, only entries with this action count.
 */
export async function* entryRanges(
  chain: Pick<SqlSessions, 'all'>,
  { upTo = Number.MAX_SAFE_INTEGER, action }: { readonly upTo?: number; readonly action?: string },
): AsyncGenerator<[after: number, last: number]> {
  const ofAction = action === undefined ? '' : 'AND "action" = $3 ';
  const sql =
    `SELECT max("sequence") AS "last" FROM (SELECT "sequence" FROM "ledger_entries" WHERE "sequence" > $1 ` +
    `AND "sequence" <= $2 ${ofAction}ORDER BY "sequence" LIMIT ${MAX_ENTRIES}) AS chunk`;
  const bounds = action === undefined ? [upTo] : [upTo, action];
  for (let after = Number.MIN_SAFE_INTEGER; ;) {
    const [extent] = await chain.all<{ last: number | null }>(sql, [after, ...bounds]);
    const last = extent?.last ?? null;
    if (last === null) return;
    yield [after, last];
    after = last;
  }
}
