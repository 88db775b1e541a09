import type { TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';

const COLUMNS = onPostgres
  ? `SELECT c.relname AS "table", a.attname AS "name", format_type(a.atttypid, a.atttypmod) AS "type", a.attnotnull AS "notNull",
     pg_get_expr(d.adbin, d.adrelid) AS "default", a.attcollation::regcollation::text AS "collation"
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY 1, 2`
  : `SELECT t."name" AS "table", c."name", c."type", c."notnull" AS "notNull", c."dflt_value" AS "default", c."pk"
     FROM sqlite_master t JOIN pragma_table_info(t."name") c WHERE t."type" = 'table' ORDER BY 1, 2`;

const INDEXES = onPostgres
  ? `SELECT indexname AS "name", indexdef AS "sql" FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 2`
  : `SELECT "name", "sql" FROM sqlite_master WHERE "type" = 'index' ORDER BY 1`;

const FOREIGN_KEYS = onPostgres
  ? `SELECT conname AS "name" FROM pg_constraint WHERE contype = 'f'`
  : `SELECT t."name" FROM sqlite_master t JOIN pragma_foreign_key_list(t."name") WHERE t."type" = 'table'`;

/**
 * Every column, index and foreign key of the database, by name: in which order migrations made them is no difference.
 */
export async function schemaOf(app: TestApp): Promise<object> {
  const connection = await foreignConnection(app);
  try {
    const columns = await connection.all(COLUMNS);
    expect(columns.length).toBeGreaterThan(50);
    return { columns, indexes: await connection.all(INDEXES), foreignKeys: await connection.all(FOREIGN_KEYS) };
  } finally {
    await connection.close();
  }
}
