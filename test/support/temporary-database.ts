import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPostgres } from './database-kind';
import { createPostgresDatabase, dropPostgresDatabase } from './database-server';

/** An empty database of a test, and a folder for whatever else it needs. */
export interface TemporaryDatabase {
  readonly folder: string;
  /** The database's file, where it is SQLite's. */
  readonly path: string;
  /** What makes the service use it. */
  readonly environment: { readonly DATABASE_URL: string; readonly CHECKPOINT_FOLDER: string };
  remove(): Promise<void>;
}

/** A database that outlives the application, for tests that start it again or look into it. */
export async function temporaryDatabase(): Promise<TemporaryDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'governance-test-'));
  const path = join(folder, 'governance.db');
  const url = onPostgres ? await createPostgresDatabase() : `sqlite:${path}`;
  return {
    folder,
    path,
    environment: { DATABASE_URL: url, CHECKPOINT_FOLDER: folder },
    remove: async () => {
      rmSync(folder, { recursive: true, force: true });
      if (onPostgres) await dropPostgresDatabase(url);
    },
  };
}
