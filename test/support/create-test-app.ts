import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp, type AppOptions } from '../../src/create-app';

export const API_KEY = 'a-key-for-tests-that-is-long-enough';

/** A running application and where it listens. */
export interface TestApp {
  readonly application: NestExpressApplication;
  /** Such as `http://127.0.0.1:41235`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the application on a free port with a database of its own; `environment` adds to a quiet, generous default. */
export async function createTestApp({ environment = {}, modules = [] }: AppOptions = {}): Promise<TestApp> {
  const application = await createApp({
    environment: { NODE_ENV: 'test', API_KEY, LOG_LEVEL: 'silent', RATE_LIMIT: '1000000', ...environment },
    modules,
  });
  await application.listen(0, '127.0.0.1');
  return {
    application,
    url: (await application.getUrl()).replace('[::1]', '127.0.0.1'),
    close: () => application.close(),
  };
}
