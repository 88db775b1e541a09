import { isFault } from '../database/database-fault';
import type { OpenedDatabase } from '../database/start-condition';

/**
 * The newest migration of the service. The head record carries it, so that a process of an earlier version, which no
 * longer understands the schema, stops writing before it changes.
 */
export const SCHEMA_VERSION = 1_766_900_000_000;

/**
 * Identifies the time zones by which this version of the schema decides. `schema` is {@link SCHEMA_VERSION}, `version`
 * that of the IANA database, and `answers` the SHA-256 of the offsets of all zones in the year after `from`. Releases
 * with different `answers` decide differently and must not write side by side, so other `answers` need a new migration
 * and a higher {@link SCHEMA_VERSION}.
 */
export const SCHEMA_ZONES = {
  schema: 1_766_900_000_000,
  version: '2026f',
  from: '2026-11-27',
  answers: 'cc8564618a437f82858da9a4ed593aaeaaa0a8af3be327f1ded3d3c62af3d53b',
};

/**
 * Name of the migration that followed the first release. Commits before it had other migrations, which were never
 * released.
 */
const SECOND_MIGRATION = 'SinceFirstRelease1765700000000';
const SELECT_APPLIED = `SELECT count(*) AS "count" FROM "migrations" WHERE "name" = '${SECOND_MIGRATION}'`;
/** Selects a row if the table that the second migration creates exists. */
const SELECT_TREE = `SELECT count(*) AS "count" FROM (SELECT 1 AS "node" FROM "ledger_tree_nodes" LIMIT 1) AS "nodes"`;

const SELECT_VERSION = `SELECT "schemaVersion" FROM "ledger_head" WHERE "id" = 1`;
/** Raises the version in the head; the statement waits for the running batch. */
export const RAISE_VERSION = `UPDATE "ledger_head" SET "schemaVersion" = ${SCHEMA_VERSION} WHERE "id" = 1 AND "schemaVersion" < ${SCHEMA_VERSION}`;

/** Thrown for a database that a commit between releases has written. Startup ends with exit code 65. */
export class UnreleasedSchemaError extends Error {
  override readonly name = 'UnreleasedSchemaError';
}

/**
 * Refuses a database whose schema this version does not know.
 * @throws Error if a later version has migrated the database; UnreleasedSchemaError
 */
export async function refuseUnknownSchema(database: OpenedDatabase): Promise<void> {
  await refuseUnreleased(database);
  const version = await versionOf(database);
  if (version === null || version <= SCHEMA_VERSION) return;
  throw new Error(
    `A later version of the service has migrated ${database.location} (schema ${version}, this version knows ${SCHEMA_VERSION}). ` +
      'Start that version, or restore a backup from before.',
  );
}

async function refuseUnreleased(database: OpenedDatabase): Promise<void> {
  if ((await firstRow(database, SELECT_TREE)) === null) return;
  if (Number((await firstRow<{ count: number }>(database, SELECT_APPLIED))?.count) > 0) return;
  throw new UnreleasedSchemaError(
    `The database ${database.location} was made by a commit between releases, whose tables no version can migrate. ` +
      'Start that commit; or set DATABASE_URL to a new database, or to one of a released version.',
  );
}

/** Raises the version before the schema changes: from then on, processes of earlier versions write nothing. */
export async function announceVersion(database: OpenedDatabase): Promise<void> {
  if ((await versionOf(database)) !== null) await database.connection?.run(RAISE_VERSION);
}

/** Returns the version in the head; null if there is no head yet, or it is of a version that recorded none. */
async function versionOf(database: OpenedDatabase): Promise<number | null> {
  return (await firstRow<{ schemaVersion: number }>(database, SELECT_VERSION))?.schemaVersion ?? null;
}

/** Returns the first row; null if there is no row, or if a migration has yet to create the table or column. */
export async function firstRow<Row extends object>({ connection }: OpenedDatabase, sql: string): Promise<Row | null> {
  try {
    const [row] = (await connection?.all<Row>(sql)) ?? [];
    return row ?? null;
  } catch (error) {
    if (isFault(error, 'programming')) return null;
    throw error;
  }
}
