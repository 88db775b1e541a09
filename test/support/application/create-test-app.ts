import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AppOptions } from '../../../src/create-app';
import { LedgerService } from '../../../src/ledger/ledger.service';
import { createTestApp as createApplication } from '../../../src/program/testing/create-test-app';
import { API_KEY } from './api-key';
import { entriesWithSecrets } from './audited-secrets';
import { keepSecrets, keepSigningKeys, noteLeak, watchLog } from './secret-watch';
import { migratedDatabase, temporaryDatabase, type TemporaryDatabase } from '../database/temporary-database';

/** A running application and its address. */
export interface TestApp {
  readonly application: NestExpressApplication;
  /** Such as `http://127.0.0.1:41235`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the application on the database of this run of the tests. Its log is searched for secrets, and so is what
 * it has written to the audit trail by its end.
 */
export async function createTestApp({ environment = {}, modules = [], logStream }: AppOptions = {}): Promise<TestApp> {
  const database = 'DATABASE_URL' in environment ? null : await newDatabase(modules);
  const all = { API_KEY, LOG_LEVEL: 'trace', ...database?.environment, ...environment };
  keepSecrets(all);
  const write = (line: string): void => {
    watchLog(line);
    logStream?.write(line);
  };
  const app = await createApplication({
    environment: all,
    modules,
    logStream: { write },
  }).catch(async (error: unknown) => {
    await database?.remove();
    throw error;
  });
  if (database !== null) keepSigningKeys(database.folder);
  const { application, url } = app;
  return {
    application,
    url,
    close: async () => {
      // Some tests remove the database.
      const entries = application.get(LedgerService).isHealthy ? await entriesWithSecrets(application) : [];
      entries.forEach((entry) => noteLeak(`audit: ${entry}`));
      await app.close();
      await database?.remove();
    },
  };
}

/** Modules may have tables of their own, which have to be there before others are changed. */
function newDatabase(modules: AppOptions['modules'] = []): Promise<TemporaryDatabase> {
  return modules.length === 0 ? migratedDatabase() : temporaryDatabase();
}
