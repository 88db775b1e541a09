import { getMetadataArgsStorage } from 'typeorm';
import type { Dialect } from './dialect';
import type { SqlSessions } from './sql-connection';
import type { OpenedDatabase, SchemaContribution } from './start-condition';

/** Something that has the name of a table but may not show its rows: a view, or a table with row security. */
export interface ReplacedTable {
  readonly name: string;
  /** `filtered`: a table of which row security hides rows from the service; otherwise a view or the like. */
  readonly type: string;
}

/**
 * Refuses, before any migration, a database in which something else took the place of a table, or hides its rows: a
 * view may show each reader other rows, so nothing that was verified through it would hold.
 * @throws if there is such a table.
 */
export async function refuseReplacedTables(
  { connection, dialect, location }: OpenedDatabase,
  schema: SchemaContribution,
): Promise<void> {
  const replaced = connection === null ? [] : await replacedTables(connection, dialect, schema);
  if (replaced.length === 0) return;
  throw new Error(`In ${location} ${replaced.map(faultOf).join(' ')}`);
}

/** The tables of the schema that something else has replaced. Missing tables are not listed. */
export async function replacedTables(
  connection: Pick<SqlSessions, 'all'>,
  dialect: Dialect,
  schema: SchemaContribution,
): Promise<ReplacedTable[]> {
  const names = getMetadataArgsStorage()
    .filterTables([...schema.tables])
    .flatMap(({ name = [] }) => name);
  const { sql, parameters } = dialect.query(names);
  const rows = await connection.all<ReplacedTable>(sql, parameters);
  // SQLite finds tables by names in any case.
  const tables = new Set(names.map((name) => name.toLowerCase()));
  return rows.filter(({ name, type }) => type !== 'table' && tables.has(name.toLowerCase()));
}

function faultOf({ name, type }: ReplacedTable): string {
  return type === 'filtered'
    ? `row security hides rows of ${name} from the role of the service: somebody has enabled it. Disable it.`
    : `${name} must be a table, and is a view or the like: somebody has put it there. Put the table back, or restore a backup.`;
}
