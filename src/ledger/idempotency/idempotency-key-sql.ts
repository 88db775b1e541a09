import { quoted, type ColumnDefinition, type Dialect } from '../../database/dialect';
import { insertRows, oncePerDialect, selectAmong } from '../statements';

const TABLE = 'idempotency_keys';
const COLUMNS: readonly ColumnDefinition[] = ['id', 'contentHash', 'answer', 'createdAt'].map((name) => ({
  name,
  type: 'text',
}));

/** Removes at most `$2` of those made before `$1`, oldest first. */
export const DELETE_EXPIRED =
  `DELETE FROM "${TABLE}" WHERE "id" IN ` +
  `(SELECT "id" FROM "${TABLE}" WHERE "createdAt" <= $1 ORDER BY "createdAt" LIMIT $2)`;

/** When the write was answered: tells a commit that took place from one that did not, and whether there is an answer. */
export const SELECT_CREATED_AT = `SELECT "createdAt" AS "found" FROM "${TABLE}" WHERE "id" = $1`;

/** What a write came to: up to a body's size, so it is read for those that are answered by it alone. */
export const SELECT_ANSWER = `SELECT "answer" FROM "${TABLE}" WHERE "id" = $1`;

export const idempotencyKeySql = oncePerDialect((dialect) => ({
  select: selectAmong(
    dialect,
    TABLE,
    COLUMNS.filter(({ name }) => name !== 'answer').map(({ name }) => quoted(name)),
    'id',
  ),
  write: write(dialect),
}));

/** A key that has expired and is not removed yet begins anew. */
function write(dialect: Dialect): string {
  const changes = COLUMNS.slice(1).map(({ name }) => `"${name}" = excluded."${name}"`);
  // `WHERE true` keeps SQLite from reading ON CONFLICT as the condition of a join.
  return (
    `${insertRows(dialect, TABLE, COLUMNS)} WHERE true ` + `ON CONFLICT ("id") DO UPDATE SET ${changes.join(', ')}`
  );
}
