import { chainIsValid } from './factories';
import type { TestApp } from './create-test-app';

/**
 * Starts what the tests of a file share, and at their end verifies the history and closes the application. The stage
 * has its members from the first test on.
 */
export function stageOf<Stage extends { readonly app: TestApp }>(start: () => Promise<Stage>): Stage {
  const stage = {} as Stage;
  beforeAll(async () => {
    Object.assign(stage, await start());
  });
  afterAll(async () => {
    await chainIsValid(stage.app);
    await stage.app.close();
  });
  return stage;
}
