import { quoted, type Dialect } from '../database/dialect';
import { counterName } from './counter-name';
import { ENTRIES_COUNTED_BY, ENTRY_COUNTER } from './entry-counters';
import { IS_LISTED_SEQUENCE, IS_TEXT_ITEM, LIST_ITEMS } from './list-items';
import { countLeftoversSql } from './leftover-rows';
import type { RecordCodec } from './record-codec';

/** Counters whose names begin alike, and what they count. */
export interface CountedGroup {
  /** A condition on the column `name` of the counters. */
  readonly counters: string;
  /** Selects `name` and `counted`. */
  readonly counted: string;
}

/** Everything that counters count: the records of each kind, those with each value of a counted column, and entries. */
export function countedGroups(codecs: Iterable<RecordCodec>): CountedGroup[] {
  const ofRecords = [...codecs].flatMap((codec) => [
    {
      counters: `"name" = '${codec.kind.counter}'`,
      counted: `SELECT '${codec.kind.counter}' AS "name", count(*) - ${countLeftoversSql(codec)} AS "counted" FROM ${quoted(codec.table)}`,
    },
    ...(codec.kind.countedBy ?? []).map((column) => countedValues(codec.table, codec.kind.counter, column)),
    ...(codec.kind.listColumns ?? []).map((column) => countedItems(codec.kind.counter, column)),
  ]);
  return [...ofRecords, ...ENTRIES_COUNTED_BY.map((column) => countedValues('ledger_entries', ENTRY_COUNTER, column))];
}

function countedValues(table: string, counter: string, column: string): CountedGroup {
  const prefix = counterName(counter, column, '');
  return {
    counters: beginsWith('name', prefix),
    counted:
      `SELECT '${prefix}' || ${quoted(column)} AS "name", count(*) AS "counted" FROM ${quoted(table)} ` +
      `WHERE ${quoted(column)} IS NOT NULL GROUP BY ${quoted(column)}`,
  };
}

/** List items are named like their counters. */
function countedItems(counter: string, column: string): CountedGroup {
  const prefix = counterName(counter, column, '');
  return {
    counters: beginsWith('name', prefix),
    counted:
      `SELECT "item" AS "name", count(*) AS "counted" FROM ${quoted(LIST_ITEMS)} ` +
      `WHERE ${beginsWith('item', prefix)} GROUP BY "item"`,
  };
}

function beginsWith(column: string, prefix: string): string {
  return `substr(${quoted(column)}, 1, ${prefix.length}) = '${prefix}'`;
}

/** Null for another type, of which `sum` takes the digits it begins with. */
const COUNT = `CASE WHEN "value" BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER} THEN 1 END`;

/** The counters of a group that say something else than what they count, `$1` at most, each with how many there are. */
export function wrongCountersSql({ counters, counted }: CountedGroup): string {
  return (
    `SELECT "name", count(*) OVER () AS "all" FROM (SELECT "name", "value", 0 AS "counted" FROM "ledger_counters" ` +
    `WHERE ${counters} UNION ALL SELECT "name", 0, "counted" FROM (${counted}) AS there) AS both_sides ` +
    `GROUP BY "name" HAVING sum("value") <> sum("counted") OR count(${COUNT}) < count(*) ORDER BY "name" LIMIT $1`
  );
}

/** The counters that belong to no group, `$1` at most, each with how many there are. */
export function strayCountersSql(groups: readonly CountedGroup[]): string {
  const isKnown = groups.map(({ counters }) => counters).join(' OR ');
  return (
    `SELECT COALESCE(CAST("name" AS text), '') AS "name", count(*) OVER () AS "all" FROM "ledger_counters" ` +
    `WHERE (${isKnown}) IS NOT TRUE ORDER BY "name" LIMIT $1`
  );
}

/** List items after a place (null: the first) and sequence, `$3` at most, each with how many of its records there are. */
export function listItemsSql(codecs: Iterable<RecordCodec>, dialect: Dialect, isFirst: boolean): string {
  const after = `COALESCE(${dialect.placeAt('$1')}, '')`;
  return (
    `SELECT ${dialect.place('"item"')} AS "place", "createdSequence", CAST("recordId" AS text) AS "recordId", ${recordsOfItem(codecs)} AS "records" ` +
    `FROM ${quoted(LIST_ITEMS)} AS items WHERE ("item", "createdSequence") ${isFirst ? '>=' : '>'} (${after}, $2) ` +
    `AND ${IS_READABLE} ORDER BY "item", "createdSequence" LIMIT $3`
  );
}

/** The ids in list items that are at no place of such a query, and name no record; `$1` at most. */
export function unreadableItemsSql(codecs: Iterable<RecordCodec>): string {
  return (
    `SELECT CAST("recordId" AS text) AS "recordId" FROM ${quoted(LIST_ITEMS)} AS items ` +
    `WHERE NOT (${IS_READABLE}) AND ${recordsOfItem(codecs)} = 0 LIMIT $1`
  );
}

const IS_READABLE = `${IS_TEXT_ITEM} AND ${IS_LISTED_SEQUENCE}`;

function recordsOfItem(codecs: Iterable<RecordCodec>): string {
  const records = [...codecs]
    .filter(({ kind }) => kind.listColumns !== undefined)
    .map(({ table }) => `(SELECT count(*) FROM ${quoted(table)} AS live WHERE live."id" = items."recordId")`);
  return ['0', ...records].join(' + ');
}

/** The head record beside the last entry, and the last entry that changed what processes keep in memory. */
export function headSql(codecs: Iterable<RecordCodec>): string {
  const effects = [...codecs]
    .filter(({ kind }) => kind.isKeptInMemory === true)
    .map(
      ({ table }) =>
        `SELECT max(entry."sequence") AS "sequence" FROM ${quoted(table)} AS kept ` +
        `JOIN "ledger_entries" AS entry ON entry."subjectId" = kept."id"`,
    );
  const none = `SELECT 0 AS "sequence"`;
  return (
    `SELECT head."sequence", head."timestamp", head."lastUlid", head."effectSequence", head."schemaVersion", ` +
    `(SELECT count(*) FROM "ledger_head") AS "heads", ` +
    `(SELECT max("sequence") FROM (${[none, ...effects].join(' UNION ALL ')}) AS effects) AS "lastEffect", ` +
    `entry."id" AS "entryId", entry."timestamp" AS "entryTimestamp" FROM "ledger_head" AS head ` +
    `LEFT JOIN "ledger_entries" AS entry ON entry."sequence" = head."sequence" WHERE head."id" = 1`
  );
}
