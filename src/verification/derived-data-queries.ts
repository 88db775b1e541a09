import { quoted, type Dialect } from '../database/dialect';
import { IS_LISTED_SEQUENCE, IS_TEXT_ITEM, LIST_ITEMS } from '../ledger/records/list-items';
import { saysStateSql } from '../ledger/records/access-denied';
import type { RecordCodec } from '../ledger/records/record-codec';

/**
 * List items after a position (null: the first) and a sequence, at most `$3`, each with the number of records it
 * belongs to.
 */
export function listItemsSql(codecs: Iterable<RecordCodec>, dialect: Dialect, isFirst: boolean): string {
  const after = `COALESCE(${dialect.placeAt('$1')}, '')`;
  return (
    `SELECT ${dialect.place('"item"')} AS "place", "createdSequence", CAST("recordId" AS text) AS "recordId", ${recordsOfItem(codecs)} AS "records" ` +
    `FROM ${quoted(LIST_ITEMS)} AS items WHERE ("item", "createdSequence") ${isFirst ? '>=' : '>'} (${after}, $2) ` +
    `AND ${IS_READABLE} ORDER BY "item", "createdSequence" LIMIT $3`
  );
}

/**
 * The ids in list items that such a query does not reach, and that name no record: among the first `limit` items within
 * bounds, each of which is a comparison with a position and a sequence.
 */
export function unreadableItemsSql(
  codecs: Iterable<RecordCodec>,
  dialect: Dialect,
  comparisons: readonly string[],
  limit: number,
): string {
  const bounds = comparisons.map((comparison, index) => {
    const [place, sequence] = [dialect.placeAt(`$${2 * index + 1}`), `$${2 * index + 2}`];
    return `("item", "createdSequence") ${comparison} (${place}, ${sequence})`;
  });
  return (
    `SELECT CAST("recordId" AS text) AS "recordId" FROM (SELECT "item", "createdSequence", "recordId" FROM ${quoted(LIST_ITEMS)} ` +
    `WHERE ${['TRUE', ...bounds].join(' AND ')} ORDER BY "item", "createdSequence" LIMIT ${limit}) AS items ` +
    `WHERE NOT (${IS_READABLE}) AND ${recordsOfItem(codecs)} = 0`
  );
}

const IS_READABLE = `${IS_TEXT_ITEM} AND ${IS_LISTED_SEQUENCE}`;

function recordsOfItem(codecs: Iterable<RecordCodec>): string {
  const records = [...codecs]
    .filter(({ kind }) => kind.listColumns !== undefined)
    .map(({ table }) => `(SELECT count(*) FROM ${quoted(table)} AS live WHERE live."id" = items."recordId")`);
  return ['0', ...records].join(' + ');
}

/** The head record next to the last entry. */
export const SELECT_HEAD =
  `SELECT head."sequence", head."timestamp", head."lastUlid", head."effectSequence", head."schemaVersion", ` +
  `(SELECT count(*) FROM (SELECT 1 FROM "ledger_head" LIMIT 2) AS heads) AS "heads", ` +
  `entry."id" AS "entryId", entry."timestamp" AS "entryTimestamp" FROM "ledger_head" AS head ` +
  `LEFT JOIN "ledger_entries" AS entry ON entry."sequence" = head."sequence" WHERE head."id" = 1`;

/**
 * The last entry up to the sequence `$2` about the next records after the position `$1`, and where these records end.
 */
export function lastEntrySql({ table }: RecordCodec, dialect: Dialect, isFirst: boolean, limit: number): string {
  const lastOf = `SELECT max("sequence") FROM "ledger_entries" AS entry WHERE entry."subjectId" = kept."id" AND entry."sequence" <= $2 AND ${saysStateSql('entry.')}`;
  return (
    `SELECT ${dialect.place('max("id")')} AS "place", max("sequence") AS "sequence" FROM (SELECT kept."id", (${lastOf}) AS "sequence" ` +
    `FROM ${quoted(table)} AS kept WHERE kept."id" ${isFirst ? '>=' : '>'} COALESCE(${dialect.placeAt('$1')}, '') ` +
    `ORDER BY kept."id" LIMIT ${limit}) AS chunk`
  );
}
