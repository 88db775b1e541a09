import { statSync } from 'node:fs';
import { Database } from '../../src/ledger/database/database';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';

/** Bytes. */
const LIMIT = 32 << 20;
const LARGE = 48 << 20;

describeOnSqlite("SQLite's write-ahead log", () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp();
  });
  afterEach(() => app.close());

  function size(): number {
    return statSync(`${app.application.get(Database).location}-wal`).size;
  }

  it('grows while a reader holds a snapshot, and shrinks with the next writes', async () => {
    const reader = await foreignConnection(app);
    await reader.run('BEGIN');
    await reader.all('SELECT count(*) FROM "ledger_entries"');
    const writer = await foreignConnection(app);
    await writer.run(`CREATE TABLE "padding" AS SELECT zeroblob(${LARGE})`);
    await writer.close();
    await createEntity(app);
    expect(size()).toBeGreaterThan(LARGE);
    await reader.run('COMMIT');
    await reader.close();
    for (let count = 0; count < 3; count += 1) await createEntity(app);
    expect(size()).toBeLessThanOrEqual(LIMIT);
  });
});
