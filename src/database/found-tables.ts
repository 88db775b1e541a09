import { getMetadataArgsStorage } from 'typeorm';
import type { FoundDatabase, SchemaContribution } from './start-condition';

/**
 * Refuses, before any migration, a database in which something else took the place of a table: a view may show each
 * reader other rows, so nothing that was verified through it would hold.
 * @throws if there is such a table.
 */
export async function refuseNotTables(
  { connection, dialect, location }: FoundDatabase,
  schema: SchemaContribution,
): Promise<void> {
  const names = getMetadataArgsStorage()
    .filterTables([...schema.tables])
    .flatMap(({ name = [] }) => name);
  const { sql, parameters } = dialect.found(names);
  const found = (await connection?.all<{ name: string; type: string }>(sql, parameters)) ?? [];
  // SQLite finds tables by names in any case.
  const tables = new Set(names.map((name) => name.toLowerCase()));
  const others = found.filter(({ name, type }) => type !== 'table' && tables.has(name.toLowerCase()));
  if (others.length === 0) return;
  throw new Error(
    `In ${location} ${others.map(({ name }) => name).join(', ')} must be a table, and is a view or the like: ` +
      'somebody has put it there. Put the table back, or restore a backup.',
  );
}
