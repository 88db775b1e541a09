import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createEntity } from '../../support/application/factories';
import { foreignConnection } from '../../support/database/foreign-connection';
import { metric } from '../../support/application/metric';

const PREVIOUS_HEADS = 'governance_ledger_previous_heads';
const WRITES = 60;
/** The server's statistics lag by some seconds. */
const PATIENCE = 100_000;

describe('A long snapshot', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it('is visible in a metric, as the server keeps every version of the head row for it', async () => {
    const reader = await foreignConnection(app);
    await reader.run('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.all('SELECT count(*) FROM "ledger_entries"');
    for (let count = 0; count < WRITES; count += 1) await createEntity(app);
    const deadline = Date.now() + PATIENCE;
    while (!((await metric(app, PREVIOUS_HEADS)) >= WRITES / 2) && Date.now() < deadline) await sleep(500);
    expect(await metric(app, PREVIOUS_HEADS)).toBeGreaterThanOrEqual(WRITES / 2);
    await reader.close();
  });
});
