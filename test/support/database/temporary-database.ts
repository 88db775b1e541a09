import { type TemporaryDatabase, temporaryFolder } from '../../../src/testing/temporary-database';
import { onPostgres } from './database-kind';
import { createPostgresDatabase, dropPostgresDatabase } from './database-server';

export type { TemporaryDatabase };

/** A database of this run's kind that outlives the application, for tests that restart it or look into the database. */
export async function temporaryDatabase(): Promise<TemporaryDatabase> {
  if (!onPostgres) return temporaryFolder((path) => `sqlite:${path}`);
  const url = await createPostgresDatabase();
  return temporaryFolder(
    () => url,
    () => dropPostgresDatabase(url),
  );
}
