import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp, type AppOptions } from '../../src/create-app';
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
 * Starts the application on a free port; `environment` adds to a quiet, generous default. Unless it names a database, the
 * application gets one of its own, which goes with it.
 */
export async function createTestApp({ environment = {}, modules = [] }: AppOptions = {}): Promise<TestApp> {
  const database = 'DATABASE_URL' in environment ? null : await temporaryDatabase();
  const quiet = { NODE_ENV: 'test', API_KEY, LOG_LEVEL: 'silent', RATE_LIMIT: '1000000' };
  const application = await createApp({
    environment: { ...quiet, ...database?.environment, ...environment },
    modules,
  }).catch(async (error: unknown) => {
    await database?.remove();
    throw error;
  });
  await application.listen(0, '127.0.0.1');
  return {
    application,
    url: (await application.getUrl()).replace('[::1]', '127.0.0.1'),
    close: async () => {
      await application.close();
      await database?.remove();
    },
  };
}
