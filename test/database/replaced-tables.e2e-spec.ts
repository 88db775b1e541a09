import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** There a test can lock a table, so that a read of it is in progress for as long as needed. */
const itOnPostgres = onPostgres ? it : it.skip;

describe('A view in place of a table', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await start();
    foreign = await foreignConnection(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    return createTestApp({ environment: database.environment });
  }

  it.each(['policies', 'agents', 'ledger_entries', 'ledger_tree_nodes'])(
    'of the same rows as %s prevents the start',
    async (table) => {
      await app.close();
      await foreign.run(`ALTER TABLE ${table} RENAME TO hidden`);
      await foreign.run(`CREATE VIEW ${table} AS SELECT * FROM hidden`);
      // SQLite would ask this one what is a table.
      await foreign.run(`CREATE TABLE pragma_table_list ("schema" text, "name" text, "type" text)`);
      await foreign.run(`INSERT INTO pragma_table_list VALUES ('main', '${table}', 'table')`);
      await expect(start()).rejects.toThrow(new RegExp(`In .+ ${table} must be a table`));
      await foreign.run(`DROP TABLE pragma_table_list`);
      await foreign.run(`DROP VIEW ${table}`);
      await foreign.run(`ALTER TABLE hidden RENAME TO ${table}`);
      app = await start();
    },
  );

  it.each(['policies', 'agents', 'ledger_entries', 'ledger_tree_nodes'])(
    'of the same rows as %s, put there while the service runs, is found by a verification of the records',
    async (table) => {
      await foreign.run(`ALTER TABLE ${table} RENAME TO hidden`);
      await foreign.run(`CREATE VIEW ${table} AS SELECT * FROM hidden`);
      const verify = () => send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
      expect(await verify()).toMatchObject({
        status: 200,
        body: { valid: false, invalidDerived: 1, firstInvalidDerived: [{ data: 'table', name: table }] },
      });
      await foreign.run(`DROP VIEW ${table}`);
      await foreign.run(`ALTER TABLE hidden RENAME TO ${table}`);
      expect(await verify()).toMatchObject({ status: 200, body: { valid: true, invalidDerived: 0 } });
    },
  );

  itOnPostgres('of the same rows, put there while the records are being verified, is found', async () => {
    await foreign.run('BEGIN');
    await foreign.run('LOCK TABLE claims IN ACCESS EXCLUSIVE MODE');
    const verified = send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    // The table has the same number in the databases of other tests, which are made from one template.
    const waiting = `SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE relation = 'claims'::regclass AND NOT granted AND datname = current_database()`;
    while ((await foreign.all(waiting)).length === 0) await sleep(20);
    await foreign.run('ALTER TABLE agents RENAME TO hidden');
    await foreign.run('CREATE VIEW agents AS SELECT * FROM hidden');
    await foreign.run('COMMIT');
    expect(await verified).toMatchObject({
      status: 200,
      body: { valid: false, invalidDerived: 1, firstInvalidDerived: [{ data: 'table', name: 'agents' }] },
    });
    await foreign.run('DROP VIEW agents');
    await foreign.run('ALTER TABLE hidden RENAME TO agents');
  });
});
