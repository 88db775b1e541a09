import { quoted, type Dialect } from '../database/dialect';
import { counterName, ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../ledger/records/counter-name';
import { LIST_ITEMS } from '../ledger/records/list-items';
import type { RecordCodec } from '../ledger/records/record-codec';
import { LEFTOVERS } from '../ledger/schema/ledger-leftover.entity';

/** Most rows that one statement reads. */
export const CHUNK_ROWS = 5_000;

/** The rows of a table, which one counter counts. */
export interface CountedRows {
  readonly counter: string;
  readonly table: string;
  /** Rows whose owner was removed are no longer counted, and still to be deleted. */
  readonly owner: { readonly column: string; readonly subjectType: string } | null;
}

/** The values of a column, each with its own counter. There is an index (column, sequence). */
export interface CountedValues {
  readonly prefix: string;
  readonly table: string;
  readonly column: string;
  readonly sequence: string;
  /** List items have the full names of their counters; other values are appended to the prefix. */
  readonly isNamed: boolean;
}

/** Every kind of record that has a counter. */
export function countedRows(codecs: Iterable<RecordCodec>): CountedRows[] {
  return [...codecs].map(({ kind, table }) => {
    const { counter, owner, subjectType } = kind;
    return { counter, table, owner: owner === undefined ? null : { column: owner.column, subjectType } };
  });
}

/** Every column of records, lists of records, and entries with a counter per value. */
export function countedValues(codecs: Iterable<RecordCodec>): CountedValues[] {
  const ofRecords = [...codecs].flatMap(({ kind, table }) => {
    const { counter, countedBy = [], listColumns = [] } = kind;
    const sequence = 'createdSequence';
    return [
      ...countedBy.map((column) => ({ prefix: prefixOf(counter, column), table, column, sequence, isNamed: false })),
      ...listColumns.map((column) => ({
        ...{ prefix: prefixOf(counter, column), table: LIST_ITEMS, column: 'item', sequence, isNamed: true },
      })),
    ];
  });
  const ofEntries = ENTRIES_COUNTED_BY.map((column) => {
    const prefix = prefixOf(ENTRY_COUNTER, column);
    return { prefix, table: 'ledger_entries', column, sequence: 'sequence', isNamed: false };
  });
  return [...ofRecords, ...ofEntries];
}

function prefixOf(counter: string, column: string): string {
  return counterName(counter, column, '');
}

export const SELECT_COUNTER = 'SELECT "value" FROM "ledger_counters" WHERE "name" = $1';

/** How many of the next rows after the sequence `$1` are counted, and where they end. */
export function rowsChunkSql({ table, owner }: CountedRows, chunkRows: number): string {
  const isLeftover =
    owner === null
      ? 'FALSE'
      : `EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS gone WHERE gone."subjectType" = '${owner.subjectType}' ` +
        `AND gone."ownerId" = live.${quoted(owner.column)})`;
  return (
    `SELECT max("createdSequence") AS "last", sum("counts") AS "counted" FROM (SELECT "createdSequence", ` +
    `CASE WHEN ${isLeftover} THEN 0 ELSE 1 END AS "counts" FROM ${quoted(table)} AS live ` +
    `WHERE "createdSequence" > $1 AND "createdSequence" <= ${Number.MAX_SAFE_INTEGER} ` +
    `ORDER BY "createdSequence" LIMIT ${chunkRows}) AS chunk`
  );
}

/**
 * The values of the next rows after a position (null: the first) and a sequence, in order: each with the number of
 * these rows that have it, and with its counter.
 */
export function valuesChunkSql(values: CountedValues, dialect: Dialect, chunkRows: number): string {
  const [column, sequence] = [quoted(values.column), quoted(values.sequence)];
  const first = values.isNamed ? values.prefix : '';
  const end = values.isNamed ? `AND ${column} < '${endOf(values.prefix)}' ` : '';
  const name = values.isNamed ? 'chunk."item"' : `'${values.prefix}' || chunk."item"`;
  return (
    `SELECT ${dialect.place('chunk."item"')} AS "place", ${name} AS "name", chunk."counted", chunk."last", counter."value" ` +
    `FROM (SELECT "item", count(*) AS "counted", max("position") AS "last" FROM ` +
    `(SELECT ${column} AS "item", ${sequence} AS "position" FROM ${quoted(values.table)} ` +
    `WHERE (${column}, ${sequence}) > (COALESCE(${dialect.placeAt('$1')}, '${first}'), $2) ${end}` +
    `AND ${sequence} <= ${Number.MAX_SAFE_INTEGER} ORDER BY ${column}, ${sequence} LIMIT ${chunkRows}) AS rows_of_chunk ` +
    `GROUP BY "item") AS chunk LEFT JOIN "ledger_counters" AS counter ON counter."name" = ${name} ORDER BY chunk."item"`
  );
}

/** The counters of rows that are beyond all sequences, and so in no chunk: the ledger has not counted them. */
export function beyondChunksSql({ prefix, table, column, sequence }: CountedValues, chunkRows: number): string {
  return (
    `SELECT '${prefix}' || ${quoted(column)} AS "name" FROM ${quoted(table)} ` +
    `WHERE ${quoted(sequence)} > ${Number.MAX_SAFE_INTEGER} AND ${quoted(column)} IS NOT NULL LIMIT ${chunkRows}`
  );
}

/** Where the next counters after a position end; null: there are none. Of all counters, or of those with a prefix. */
export function lastNameSql(dialect: Dialect, isFirst: boolean, prefix: string, chunkRows: number): string {
  return (
    `SELECT ${dialect.place('max("name")')} AS "last" FROM (SELECT "name" FROM "ledger_counters" ` +
    `WHERE ${isAfter(dialect, isFirst, prefix)} ORDER BY "name" LIMIT ${chunkRows}) AS chunk`
  );
}

/** Counters after the position `$1`, up to `$2`, that are not 0 although no row has their value. */
export function unusedCountersSql(values: CountedValues, dialect: Dialect, isFirst: boolean): string {
  const value = values.isNamed ? 'counter."name"' : `substr(counter."name", ${values.prefix.length + 1})`;
  return (
    `${namesUpTo(dialect, isFirst, values.prefix)} AND ("value" = 0) IS NOT TRUE AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoted(values.table)} AS used WHERE used.${quoted(values.column)} = ${value})`
  );
}

/** Counters after the position `$1`, up to `$2`, of nothing that the ledger counts. */
export function strayCountersSql(codecs: Iterable<RecordCodec>, dialect: Dialect, isFirst: boolean): string {
  const all = [...codecs];
  const isKnown = [
    ...countedRows(all).map(({ counter }) => `"name" = '${counter}'`),
    ...countedValues(all).map(({ prefix }) => `substr("name", 1, ${prefix.length}) = '${prefix}'`),
  ];
  return `${namesUpTo(dialect, isFirst, '')} AND (${isKnown.join(' OR ')}) IS NOT TRUE`;
}

function namesUpTo(dialect: Dialect, isFirst: boolean, prefix: string): string {
  return (
    `SELECT CAST("name" AS text) AS "name" FROM "ledger_counters" AS counter ` +
    `WHERE ${isAfter(dialect, isFirst, prefix)} AND "name" <= ${dialect.placeAt('$2')}`
  );
}

function isAfter(dialect: Dialect, isFirst: boolean, prefix: string): string {
  const end = prefix === '' ? '' : ` AND "name" < '${endOf(prefix)}'`;
  return `"name" ${isFirst ? '>=' : '>'} COALESCE(${dialect.placeAt('$1')}, '${prefix}')${end}`;
}

/** The end of the prefix: ";" is the character after ":". */
function endOf(prefix: string): string {
  return `${prefix.slice(0, -1)};`;
}
