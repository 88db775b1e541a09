import type { NestExpressApplication } from '@nestjs/platform-express';
import { type AppOptions, createApp } from '../../create-app';
import { type Answer, sendRequest, type Sent } from './send';
import { temporaryDatabase } from './temporary-database';
import { postgresSettings, TEST_API_KEY } from './test-api-key';

export interface TestAppOptions extends AppOptions {
  /** URL of a PostgreSQL server on which to create the database; without it the database is a SQLite file. */
  readonly postgresServer?: string;
}

/** A running application and its address. */
export interface TestApp {
  readonly application: NestExpressApplication;
  /** For example `http://127.0.0.1:41235`. */
  readonly url: string;
  /** Sends a request with the API key; `path` begins with `/api/v1`. */
  send(method: string, path: string, sent?: Sent): Promise<Answer>;
  /** Stops the application and removes the database that was created for it. */
  close(): Promise<void>;
}

/**
 * Starts the application on a free port, with a rate limit that no test reaches; `environment` adds to these settings.
 * Unless `environment` names a database, the application gets a new one, which is removed with it.
 */
export async function createTestApp({ postgresServer, environment, ...others }: TestAppOptions = {}): Promise<TestApp> {
  const isGiven = environment?.['DATABASE_URL'] !== undefined;
  const database = isGiven ? null : await temporaryDatabase(postgresServer);
  const usual = { NODE_ENV: 'test', API_KEY: TEST_API_KEY, LOG_LEVEL: 'warn', RATE_LIMIT: '1000000' };
  const own = { ...database?.environment, ...environment };
  const all = { ...usual, ...postgresSettings(own), ...own };
  const application = await createApp({ ...others, environment: all }).catch(async (error: unknown) => {
    await database?.remove();
    throw error;
  });
  await application.listen(0, '127.0.0.1');
  const url = (await application.getUrl()).replace('[::1]', '127.0.0.1');
  return {
    application,
    url,
    send: (method, path, sent = {}) => sendRequest(url, method, path, { key: all.API_KEY, ...sent }),
    close: async () => {
      await application.close();
      await database?.remove();
    },
  };
}
