import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { SCHEMA_VERSION } from '../../src/ledger/schema/schema-version';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { ROOT } from '../support/documents/markdown';
import { send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

describe('The version of the schema', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let foreign: SqlConnection;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await start();
    foreign = await foreignConnection(app);
  });
  afterEach(async () => {
    await foreign.close();
    await app.close();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    return createTestApp({ environment: database.environment });
  }

  function setVersion(version: number): Promise<void> {
    return foreign.run('UPDATE "ledger_head" SET "schemaVersion" = $1', [version]);
  }

  async function statuses(): Promise<Record<string, number>> {
    const body = { type: 'service', name: 'a' };
    return {
      write: (await send(app, 'POST', '/api/v1/entities', { body })).status,
      read: (await send(app, 'GET', '/api/v1/entities')).status,
      ready: (await send(app, 'GET', '/api/v1/health/ready')).status,
      live: (await send(app, 'GET', '/api/v1/health/live')).status,
    };
  }

  it('is that of the newest migration of the service', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const numbers = files
      .filter((path) => path.endsWith('.migration.ts'))
      .flatMap((path) => [...readFileSync(join(ROOT, 'src', path), 'utf8').matchAll(/class \w*?(\d{13}) /g)])
      .map(([, number]) => number);
    expect(SCHEMA_VERSION).toBe(Math.max(...numbers.map(Number)));
  });

  it('is kept in the head record', async () => {
    expect(await foreign.all('SELECT "schemaVersion" FROM "ledger_head"')).toEqual([{ schemaVersion: SCHEMA_VERSION }]);
  });

  it('that a later version raises while a process runs stops the writes of the process, which is not ready', async () => {
    expect(await statuses()).toEqual({ write: 201, read: 200, ready: 200, live: 200 });
    await setVersion(SCHEMA_VERSION + 1);
    expect(await statuses()).toEqual({ write: 503, read: 200, ready: 503, live: 200 });
    const { body } = await send(app, 'GET', '/api/v1/entities');
    expect(body.total).toBe(1);
  });

  it('of a later version prevents the start, and the database stays as it is', async () => {
    await createEntity(app);
    await setVersion(SCHEMA_VERSION + 1);
    await app.close();
    await expect(start()).rejects.toThrow(/A later version of the service has migrated .+ Start that version/);
    expect(await foreign.all('SELECT "schemaVersion" FROM "ledger_head"')).toEqual([
      { schemaVersion: SCHEMA_VERSION + 1 },
    ]);
    await setVersion(SCHEMA_VERSION);
    app = await start();
  });

  it('of a version that was never released prevents the start: what it has made cannot be made again', async () => {
    const rename = 'UPDATE "migrations" SET "name" = $2 WHERE "name" = $1';
    const [ours, other] = ['SinceFirstRelease1765700000000', 'LedgerTree1763800000000'];
    await foreign.run(rename, [ours, other]);
    await app.close();
    const before = await foreign.all('SELECT "name" FROM "migrations"');
    await expect(start()).rejects.toThrow(
      /was made by a commit between releases.+ Start that commit; or set DATABASE_URL/,
    );
    expect(await foreign.all('SELECT "name" FROM "migrations"')).toEqual(before);
    await foreign.run(rename, [other, ours]);
    app = await start();
    expect(await statuses()).toEqual({ write: 201, read: 200, ready: 200, live: 200 });
  });

  it('of an earlier version is raised by the start', async () => {
    await setVersion(0);
    await app.close();
    app = await start();
    expect(await foreign.all('SELECT "schemaVersion" FROM "ledger_head"')).toEqual([{ schemaVersion: SCHEMA_VERSION }]);
    expect(await statuses()).toEqual({ write: 201, read: 200, ready: 200, live: 200 });
  });
});
