import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresDatabase, dropPostgresDatabase } from './postgres-server';

/** An empty database for a test, and a folder for anything else it needs. */
export interface TemporaryDatabase {
  readonly folder: string;
  /** Path of the database file, if it is SQLite. */
  readonly path: string;
  /** Settings that make the service use it. */
  readonly environment: { readonly DATABASE_URL: string; readonly CHECKPOINT_FOLDER: string };
  remove(): Promise<void>;
}

/**
 * A database that outlives the application, for tests that restart it or inspect it: a SQLite file, or a new database
 * on the PostgreSQL server with the given URL.
 */
export async function temporaryDatabase(postgresServer?: string): Promise<TemporaryDatabase> {
  if (postgresServer === undefined) return temporaryFolder((path) => `sqlite:${path}`);
  const url = await createPostgresDatabase(postgresServer);
  return temporaryFolder(
    () => url,
    () => dropPostgresDatabase(postgresServer, new URL(url).pathname.slice(1)),
  );
}

/**
 * Makes a folder with the database that `urlOf` names, which may be a file in it. `drop` removes any other database.
 */
export function temporaryFolder(urlOf: (path: string) => string, drop?: () => Promise<void>): TemporaryDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'governance-test-'));
  const path = join(folder, 'governance.db');
  return {
    folder,
    path,
    environment: { DATABASE_URL: urlOf(path), CHECKPOINT_FOLDER: folder },
    remove: async () => {
      rmSync(folder, { recursive: true, force: true });
      await drop?.();
    },
  };
}
