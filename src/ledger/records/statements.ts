import { quoted, type ColumnDefinition, type Dialect } from '../../database/dialect';

/** Builds statements once per dialect, not once per batch. */
export function oncePerDialect<Statements>(make: (dialect: Dialect) => Statements): (dialect: Dialect) => Statements {
  const made = new WeakMap<Dialect, Statements>();
  return (dialect) => {
    const known = made.get(dialect) ?? make(dialect);
    made.set(dialect, known);
    return known;
  };
}

/** `"a" = $1 AND "b" = $2`, in the order of the columns. */
export function equalities(columns: readonly string[]): string {
  return columns.map((column, index) => `${quoted(column)} = $${index + 1}`).join(' AND ');
}

/** The parameter of a statement that takes a JSON array of one-element arrays. */
export function arraysOfOne(values: Iterable<string | number>): string {
  return JSON.stringify(Array.from(values, (value) => [value]));
}

/** Inserts every row of a JSON array of arrays. */
export function insertRows(dialect: Dialect, table: string, columns: readonly ColumnDefinition[]): string {
  const names = columns.map(({ name }) => quoted(name)).join(', ');
  const values = columns.map((column, index) => dialect.jsonAt(index, column)).join(', ');
  return `INSERT INTO ${quoted(table)} (${names}) SELECT ${values} FROM ${dialect.jsonElements('$1')}`;
}

/** Replaces every row of a JSON array of arrays, found by its `id`, but for its fixed columns. */
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
    .map(({ name, value }) => `${quoted(name)} = ${value}`);
  return (
    `UPDATE ${quoted(table)} SET ${changes.join(', ')} ` +
    `FROM ${dialect.jsonElements('$1')} WHERE ${quoted(table)}."id" = ${idValue}`
  );
}

/** Deletes the rows whose text column has one of the values in a JSON array of one-element arrays. */
export function deleteRows(dialect: Dialect, table: string, column = 'id'): string {
  const value = dialect.jsonAt(0, { name: column, type: 'text' });
  return `DELETE FROM ${quoted(table)} WHERE ${quoted(column)} IN (SELECT ${value} FROM ${dialect.jsonElements('$1')})`;
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
    `SELECT ${selected.join(', ')} FROM ${quoted(table)} ` +
    `WHERE (${columns.map(quoted).join(', ')}) IN (SELECT ${values} FROM ${dialect.jsonElements('$1')})`
  );
}

const COUNTER_COLUMNS: readonly ColumnDefinition[] = [
  { name: 'name', type: 'text' },
  { name: 'value', type: 'integer' },
];

/** Moves each counter of a JSON array of [name, step]. */
export function moveCounters(dialect: Dialect): string {
  // `WHERE true` keeps SQLite from reading ON CONFLICT as the condition of a join.
  return (
    `${insertRows(dialect, 'ledger_counters', COUNTER_COLUMNS)} WHERE true ` +
    `ON CONFLICT ("name") DO UPDATE SET "value" = "ledger_counters"."value" + excluded."value"`
  );
}
