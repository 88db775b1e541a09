import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createPolicy } from '../../support/application/factories';
import { send, type Answer } from '../../support/application/send';
import { foreignConnection } from '../../support/database/foreign-connection';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

const DAMAGE = `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW."actions" := ''{''; RETURN NEW; END'`;

describe('A row that replicas keep in memory, damaged after another replica changed it', () => {
  let database: TemporaryDatabase;
  let writer: TestApp;
  let replica: TestApp;
  let foreign: SqlConnection;

  beforeAll(async () => {
    database = await temporaryDatabase();
    writer = await createTestApp({ environment: database.environment });
    replica = await createTestApp({ environment: database.environment });
    foreign = await foreignConnection(replica);
  });
  afterAll(async () => {
    await foreign.close();
    await Promise.all([writer.close(), replica.close()]);
    await database.remove();
  });

  const write = (): Promise<Answer> =>
    send(replica, 'POST', '/api/v1/entities', { body: { type: 'memory', name: 'written' } });
  const ready = (): Promise<Answer> => send(replica, 'GET', '/api/v1/health/ready');

  it('makes the replica that cannot follow refuse writes, and not ready, until it is repaired', async () => {
    // From its beginning: otherwise the replica may have followed it before.
    await foreign.run(DAMAGE);
    await foreign.run(`CREATE TRIGGER damage BEFORE INSERT ON "policies" FOR EACH ROW EXECUTE FUNCTION damage()`);
    const { id } = await createPolicy(writer, { actions: ['read'] });
    expect((await write()).status).toBe(503);
    expect((await ready()).status).toBe(503);
    // A probe that did not read the row would soon call the database sound again.
    for (let times = 0; times < 25; times += 1) {
      await sleep(100);
      expect((await ready()).status).toBe(503);
    }
    await foreign.run(`UPDATE "policies" SET "actions" = '["read"]' WHERE "id" = $1`, [id]);
    await untilStatus(ready, 200);
    expect((await write()).status).toBe(201);
  });
});
