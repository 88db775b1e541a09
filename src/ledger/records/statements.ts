import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';
import { isUtf8 } from 'node:buffer';
import type { SqlValue } from '../database/sql-connection';

/** Builds statements once per dialect, not once per batch. */
export function oncePerDialect<Statements>(make: (dialect: Dialect) => Statements): (dialect: Dialect) => Statements {
  const cache = new WeakMap<Dialect, Statements>();
  return (dialect) => {
    const statements = cache.get(dialect) ?? make(dialect);
    cache.set(dialect, statements);
    return statements;
  };
}

/** Returns SQL such as `"a" = $1 AND "b" = $2`, in the order of the columns. */
export function equalitySql(columns: readonly string[]): string {
  return columns.map((column, index) => `${quoteName(column)} = $${index + 1}`).join(' AND ');
}

/** The parameter of a statement that takes a JSON array of one-element arrays. */
export function arraysOfOne(values: Iterable<string | number>): string {
  return JSON.stringify(Array.from(values, (value) => [value]));
}

/** Inserts every row of a JSON array of arrays. */
export function insertRows(dialect: Dialect, table: string, columns: readonly ColumnDefinition[]): string {
  const names = columns.map(({ name }) => quoteName(name)).join(', ');
  const values = columns.map((column, index) => dialect.jsonAt(index, column)).join(', ');
  return `INSERT INTO ${quoteName(table)} (${names}) SELECT ${values} FROM ${dialect.jsonElements('$1')}`;
}

/** Inserts every row of a JSON array of arrays, or replaces the one with the same keys. */
export function upsertRows(
  dialect: Dialect,
  table: string,
  columns: readonly ColumnDefinition[],
  keys: readonly string[],
): string {
  const others = columns.filter(({ name }) => !keys.includes(name));
  const changes = others.map(({ name }) => `${quoteName(name)} = excluded.${quoteName(name)}`).join(', ');
  const conflict = `ON CONFLICT (${keys.map(quoteName).join(', ')}) DO UPDATE SET ${changes}`;
  // `WHERE true` keeps SQLite from reading ON CONFLICT as the condition of a join.
  return `${insertRows(dialect, table, columns)} WHERE true ${conflict}`;
}

/** Replaces every row of a JSON array of arrays, found by its `id`, except for the fixed columns. */
export function updateRows(
  dialect: Dialect,
  table: string,
  columns: readonly ColumnDefinition[],
  fixed: ReadonlySet<string>,
): string {
  const id = columns.findIndex(({ name }) => name === 'id');
  const idValue = dialect.jsonAt(id, { name: 'id', type: 'text' });
  const changes = columns
    .map((column, index) => ({ name: column.name, value: dialect.jsonAt(index, column) }))
    .filter(({ name }) => !fixed.has(name))
    .map(({ name, value }) => `${quoteName(name)} = ${value}`);
  return (
    `UPDATE ${quoteName(table)} SET ${changes.join(', ')} ` +
    `FROM ${dialect.jsonElements('$1')} WHERE ${quoteName(table)}."id" = ${idValue}`
  );
}

/** Deletes the rows whose text column has one of the values in a JSON array of one-element arrays. */
export function deleteRows(dialect: Dialect, table: string, column = 'id'): string {
  const value = dialect.jsonAt(0, { name: column, type: 'text' });
  return `DELETE FROM ${quoteName(table)} WHERE ${quoteName(column)} IN (SELECT ${value} FROM ${dialect.jsonElements('$1')})`;
}

/**
 * Selects these expressions from the rows whose text columns have the values of one of the arrays in a JSON array of
 * arrays.
 */
export function selectAmong(
  dialect: Dialect,
  table: string,
  selected: readonly string[],
  columns: readonly string[],
): string {
  const values = columns.map((name, index) => dialect.jsonAt(index, { name, type: 'text' })).join(', ');
  return (
    `SELECT ${selected.join(', ')} FROM ${quoteName(table)} ` +
    `WHERE (${columns.map(quoteName).join(', ')}) IN (SELECT ${values} FROM ${dialect.jsonElements('$1')})`
  );
}

/**
 * Condition, usable by an index, for values after the position `$1` in the order of a text column; all values if `$1`
 * is null.
 */
export function afterPlaceSql(column: string, dialect: Dialect): string {
  const place = dialect.placeAt('$1');
  return `${column} >= COALESCE(${place}, '') AND ${column} IS DISTINCT FROM ${place}`;
}

/** The table of sums: `LedgerSum`. */
export const SUMS = 'ledger_sums';

/** The table of the items of JSON lists in records, an index to find records by: `LedgerListItem`. */
export const LIST_ITEMS = 'ledger_list_items';

/** False if an altered row holds bytes, as SQLite allows. Bytes are neither JSON nor sorted like texts. */
export const IS_TEXT_ITEM = `"item" = CAST("item" AS text)`;
/** False for other types, for bytes, and for numbers that a driver would round. */
export const IS_LISTED_SEQUENCE = `"createdSequence" BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;

/** Half of a surrogate pair: UTF-8 cannot encode it, so no text in a database contains it. */
const MARK = '\ud800';

/**
 * Converts what `StorageForms.form` returns. A value that is not a text, or not valid UTF-8, becomes a text that equals
 * no stored one.
 */
export function storedValue(form: SqlValue): SqlValue {
  if (typeof form !== 'string') return form;
  const [storage, hex = ''] = form.split(':');
  const bytes = Buffer.from(hex, 'hex');
  return storage === 'text' && isUtf8(bytes) ? bytes.toString('utf8') : `${hex}${MARK}`;
}

/** False for values that `storedValue` has marked. */
export function isStoredText(value: SqlValue): value is string {
  return typeof value === 'string' && !value.endsWith(MARK);
}

/** Returns SQL for the size of these columns in bytes. Neither database reads the values for it. */
export function sizeSql(columns: readonly string[]): string {
  return ['0', ...columns.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(' + ');
}

/** Bytes after which a statement takes no further row to delete: what is deleted is overwritten, which takes time. */
const DELETED_AT_ONCE = 2 * 1024 * 1024;

/** Rows of a table, in the order of a column. */
interface OrderedRows {
  readonly table: string;
  /** Column of a unique key. */
  readonly key: string;
  /** SQL condition. */
  readonly condition: string;
  readonly order: string;
  /** Columns whose values can be long. */
  readonly longColumns: readonly string[];
}

/** Selects the keys of the first rows: at most `most`, and few if they are long, but at least one. */
export function firstKeys({ table, key, condition, order, longColumns }: OrderedRows, most: number): string {
  const first =
    `SELECT ${quoteName(key)} AS "key", ${quoteName(order)} AS "order", ${sizeSql(longColumns.map(quoteName))} AS "bytes" ` +
    `FROM ${quoteName(table)} WHERE ${condition} ORDER BY ${quoteName(order)} LIMIT ${most}`;
  return untilDeleted(first, ['key']);
}

/**
 * Selects columns of the first rows of a statement until what they would delete is much, but of at least one.
 * @param rows selects "order", a unique "key", "bytes", and the columns
 */
export function untilDeleted(rows: string, columns: readonly string[]): string {
  const names = columns.map(quoteName).join(', ');
  const before = `sum("bytes") OVER (ORDER BY "order", "key" ROWS UNBOUNDED PRECEDING) - "bytes" AS "before"`;
  return `SELECT ${names} FROM (SELECT ${names}, ${before} FROM (${rows}) AS one) AS two WHERE "before" < ${DELETED_AT_ONCE}`;
}

/** Selects the time of the last entry that meets the condition. */
export function lastTimeSql(condition: string): string {
  const newest = `SELECT "timestamp" FROM "ledger_entries" WHERE ${condition} ORDER BY "sequence" DESC LIMIT 1`;
  return `SELECT * FROM (${newest}) AS one`;
}
