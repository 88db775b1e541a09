import { quoted, type Dialect } from '../database/dialect';
import { LEFTOVERS } from '../ledger/schema/ledger-leftover.entity';
import { IS_LISTED_SEQUENCE, IS_TEXT_ITEM, LIST_ITEMS } from '../ledger/records/list-items';
import { saysStateSql } from '../ledger/records/access-denied';
import type { RecordCodec } from '../ledger/records/record-codec';

/** What is read from the ledger next to each live record; no column of a record has such a name. */
export const SEALED_COLUMNS = [
  'ledger.firstSequence',
  'ledger.subjectType',
  'ledger.stateHash',
  'ledger.entityId',
  'ledger.owners',
  'ledger.leftovers',
  'ledger.items',
] as const;

/** The last id of a kind, as a position. */
export function lastPlaceSql({ table }: RecordCodec, dialect: Dialect): string {
  return `SELECT ${dialect.place('max("id")')} AS "last" FROM ${quoted(table)}`;
}

/**
 * `$1`: the position before the first record (`isFirst`: null, before all); `$2`: that of the last one; `$3`: most
 * rows.
 */
function bounds(dialect: Dialect, isFirst: boolean): string {
  const [after, upTo] = [`COALESCE(${dialect.placeAt('$1')}, '')`, dialect.placeAt('$2')];
  return `WHERE live."id" ${isFirst ? '>=' : '>'} ${after} AND live."id" <= ${upTo} ORDER BY live."id" LIMIT $3`;
}

/** How many rows follow, where they end, and their size in bytes. */
export function liveExtentSql({ table, columns }: RecordCodec, dialect: Dialect, isFirst: boolean): string {
  const sizes = columns
    .filter(({ type }) => type !== 'integer')
    .map(({ name }) => `COALESCE(octet_length(live.${quoted(name)}), 0)`);
  return (
    `SELECT count(*) AS "count", ${dialect.place('max("id")')} AS "last", sum("size") AS "bytes" FROM ` +
    `(SELECT live."id", ${sizes.join(' + ')} AS "size" FROM ${quoted(table)} AS live ${bounds(dialect, isFirst)}) AS chunk`
  );
}

/** Null, which no item is, replaces what cannot be written as JSON. */
const READABLE_ITEMS =
  `SELECT CASE WHEN ${IS_TEXT_ITEM} THEN "item" END AS "item", ` +
  `CASE WHEN ${IS_LISTED_SEQUENCE} THEN "createdSequence" END AS "createdSequence" FROM ${quoted(LIST_ITEMS)}`;

/** Live rows, each with what the ledger says about it, from one snapshot. */
export function liveRecordsSql(
  { kind, table, columns }: RecordCodec,
  ownerTable: string | null,
  dialect: Dialect,
  isFirst: boolean,
): string {
  const own = columns.map(({ name }) => `live.${quoted(name)}`);
  const owners = `(SELECT count(*) FROM ${quoted(ownerTable ?? '')} AS owner WHERE owner."id" = live.${quoted(kind.owner?.column ?? '')})`;
  const leftovers = `(SELECT count(*) FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${kind.subjectType}' AND gone."ownerId" = live.${quoted(kind.owner?.column ?? '')})`;
  const items = `(SELECT ${dialect.jsonRows(['item', 'createdSequence'])} FROM (${READABLE_ITEMS} WHERE "recordId" = live."id") AS items)`;
  const sealed = [
    `(SELECT min("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id")`,
    ...['subjectType', 'stateHash', 'entityId'].map((name) => `last.${quoted(name)}`),
    ownerTable === null ? '1' : owners,
    ownerTable === null ? '0' : leftovers,
    kind.listColumns === undefined ? 'NULL' : items,
  ].map((sql, index) => `${sql} AS ${quoted(SEALED_COLUMNS[index] ?? '')}`);
  return (
    `SELECT ${[...own, ...sealed].join(', ')} FROM ${quoted(table)} AS live ` +
    `LEFT JOIN "ledger_entries" AS last ON last."sequence" = ` +
    `(SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id" AND ${saysStateSql()}) ${bounds(dialect, isFirst)}`
  );
}

/**
 * Subjects whose last entry is after `$1`, up to `$2`, and left a state, but which have no record. Unknown kinds are
 * ignored.
 */
export function missingRecordsSql(codecs: Iterable<RecordCodec>): string {
  const isGone = [...codecs].map(
    ({ kind, table }) =>
      `(entry."subjectType" = '${kind.subjectType}' AND NOT EXISTS ` +
      `(SELECT 1 FROM ${quoted(table)} AS live WHERE live."id" = entry."subjectId"))`,
  );
  return (
    `SELECT entry."sequence", entry."subjectType", entry."subjectId" FROM "ledger_entries" AS entry ` +
    `WHERE entry."sequence" > $1 AND entry."sequence" <= $2 AND entry."state" IS NOT NULL ` +
    `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS later ` +
    `WHERE later."subjectId" = entry."subjectId" AND later."sequence" > entry."sequence" AND ${saysStateSql('later.')}) ` +
    `AND (${isGone.join(' OR ')}) ORDER BY entry."sequence"`
  );
}

/** Number of entries after `$1`, up to `$2`, about a kind that is no longer known. */
export function unknownKindsSql(codecs: Iterable<RecordCodec>): string {
  const known = [...codecs].map(({ kind }) => `'${kind.subjectType}'`).join(', ');
  return (
    `SELECT count(*) AS "count" FROM "ledger_entries" ` +
    `WHERE "sequence" > $1 AND "sequence" <= $2 AND "subjectType" NOT IN (${known}) AND ${saysStateSql()}`
  );
}

/** Which of the ids in a JSON array of one-element arrays were removed, according to their last entries. */
export function removedAmongSql(dialect: Dialect): string {
  const id = dialect.jsonAt(0, { name: 'id', type: 'text' });
  return (
    `SELECT last."subjectId" AS "id" FROM ${dialect.jsonElements('$1')} JOIN "ledger_entries" AS last ` +
    `ON last."sequence" = (SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = ${id} AND ${saysStateSql()}) ` +
    `WHERE last."state" IS NULL`
  );
}

/** The states stored by the entries with the sequences in a JSON array of one-element arrays. */
export function statesSql(dialect: Dialect): string {
  const sequence = dialect.jsonAt(0, { name: 'sequence', type: 'integer' });
  return (
    `SELECT "sequence", "state" FROM "ledger_entries" ` +
    `WHERE "sequence" IN (SELECT ${sequence} FROM ${dialect.jsonElements('$1')})`
  );
}
