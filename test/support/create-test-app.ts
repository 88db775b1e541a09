import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp, type AppOptions } from '../../src/create-app';
import { LedgerService } from '../../src/ledger/ledger.service';
import { entriesWithSecrets } from './audited-secrets';
import { keepSecrets, keepSigningKeys, noteLeak, watchLog } from './secret-watch';
import { DRIVER_OF_THE_RUN } from './database-kind';
import { temporaryDatabase } from './temporary-database';

export const API_KEY = 'a-key-for-tests-that-is-long-enough';

/** A running application and where it listens. */
export interface TestApp {
  readonly application: NestExpressApplication;
  /** Such as `http://127.0.0.1:41235`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the application on a free port; `environment` adds to a generous default. Unless it names a database, the
 * application gets one of its own, which goes with it. What it logs is looked through for secrets, and so is what it has
 * written to the audit trail by its end.
 */
export async function createTestApp({ environment = {}, modules = [], logStream }: AppOptions = {}): Promise<TestApp> {
  const database = 'DATABASE_URL' in environment ? null : await temporaryDatabase();
  const generous = { NODE_ENV: 'test', API_KEY, LOG_LEVEL: 'trace', RATE_LIMIT: '1000000', ...DRIVER_OF_THE_RUN };
  const all = { ...generous, ...database?.environment, ...environment };
  keepSecrets(all);
  const write = (line: string): void => {
    watchLog(line);
    logStream?.write(line);
  };
  const application = await createApp({ environment: all, modules, logStream: { write } }).catch(
    async (error: unknown) => {
      await database?.remove();
      throw error;
    },
  );
  if (database !== null) keepSigningKeys(database.folder);
  await application.listen(0, '127.0.0.1');
  return {
    application,
    url: (await application.getUrl()).replace('[::1]', '127.0.0.1'),
    close: async () => {
      // Tests take the database away, too.
      const entries = application.get(LedgerService).isHealthy ? await entriesWithSecrets(application) : [];
      entries.forEach((entry) => noteLeak(`audit: ${entry}`));
      await application.close();
      await database?.remove();
    },
  };
}
