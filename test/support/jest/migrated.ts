import { createApp } from '../../../src/create-app';
import { type TemporaryDatabase, temporaryFolder } from '../../../src/program/testing/temporary-database';
import { postgresSettings, TEST_API_KEY } from '../../../src/program/testing/test-api-key';

/**
 * A database that the service has migrated, for the tests of a project to copy: to migrate one for each would take
 * longer than most of them. Jest runs the setup of a project once, before its first test, and workers inherit what it
 * sets.
 */
export async function migrated(urlOf: (path: string) => string): Promise<TemporaryDatabase> {
  const database = temporaryFolder(urlOf);
  const usual = { NODE_ENV: 'test', API_KEY: TEST_API_KEY, LOG_LEVEL: 'warn' };
  const application = await createApp({
    environment: { ...usual, ...postgresSettings(database.environment), ...database.environment },
  });
  await application.close();
  return database;
}
