import { type TemporaryDatabase, temporaryFolder } from '../../../src/program/testing/temporary-database';
import { copyFileSync } from 'node:fs';
import { onPostgres } from './database-kind';
import { copyPostgresDatabase, createPostgresDatabase, dropPostgresDatabase } from './database-server';

export type { TemporaryDatabase };

/** A database of this run's kind that outlives the application, for tests that restart it or look into the database. */
export async function temporaryDatabase(): Promise<TemporaryDatabase> {
  return onPostgres ? inFolder(await createPostgresDatabase()) : temporaryFolder(sqliteUrl);
}

/**
 * The same, with all tables: a copy of the one that the service has migrated for this run
 * (test/support/jest/migrated.ts).
 */
export async function migratedDatabase(): Promise<TemporaryDatabase> {
  const { MIGRATED_POSTGRES = '', MIGRATED_SQLITE = '' } = process.env;
  if (onPostgres) return inFolder(await copyPostgresDatabase(MIGRATED_POSTGRES));
  const database = temporaryFolder(sqliteUrl);
  copyFileSync(MIGRATED_SQLITE, database.path);
  // Without it, the service takes the copy for one whose key is lost.
  copyFileSync(secretKeyFile(MIGRATED_SQLITE), secretKeyFile(database.path));
  return database;
}

function secretKeyFile(path: string): string {
  return `${path}.secret-key`;
}

function inFolder(url: string): TemporaryDatabase {
  return temporaryFolder(
    () => url,
    () => dropPostgresDatabase(url),
  );
}

function sqliteUrl(path: string): string {
  return `sqlite:${path}`;
}
