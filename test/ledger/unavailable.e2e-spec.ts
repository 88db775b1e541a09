import { copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../src/ledger/database/database';
import { DatabaseFault, type FaultKind } from '../../src/ledger/database/database-fault';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlStatement } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { chainIsValid, createAgent, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { send, type Answer } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

type RunAll = (this: SqlConnection, statements: readonly SqlStatement[]) => Promise<void>;

const ENTITY = { type: 'service', name: 'Payment gateway' };
const UNAVAILABLE = {
  status: 503,
  body: { error: { code: 'UNAVAILABLE', message: expect.stringContaining('Nothing was written') } },
};
/** The ledger probes once a second; these machines can be slow. */
const PATIENCE = 60_000;

describeOnSqlite('While the database cannot accept a write', () => {
  let database: TemporaryDatabase;
  let app: TestApp;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: database.environment });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
    await database.remove();
  });

  const post = (): Promise<Answer> => send(app, 'POST', '/api/v1/entities', { body: ENTITY });
  const health = (): Promise<Answer> => send(app, 'GET', '/api/v1/health', { key: null });

  async function expectUnavailable(answer: Answer): Promise<void> {
    expect(answer).toMatchObject(UNAVAILABLE);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await health()).toMatchObject({ status: 503, body: { status: 'unhealthy', timestamp: expect.any(String) } });
  }

  /** Waits without any write except the ledger's own probes. */
  async function expectHealed(): Promise<void> {
    const deadline = Date.now() + PATIENCE;
    while ((await health()).status !== 200 && Date.now() < deadline) await sleep(50);
    expect(await health()).toMatchObject({ status: 200, body: { status: 'healthy' } });
  }

  it('because another program holds its lock: 503, reads continue, and it recovers by itself', async () => {
    const entity = await createEntity(app);
    await createAgent(app, { name: 'bot' });
    const foreign = await foreignConnection(app);
    try {
      await foreign.run('BEGIN IMMEDIATE');
      const execute = { action: 'a', resourceType: 'b', resourceId: 'c' };
      const [created, refused] = await Promise.all([
        post(),
        send(app, 'POST', '/api/v1/agents/bot/execute', { body: execute }),
      ]);
      await expectUnavailable(created);
      // A refusal that cannot be recorded is not answered.
      await expectUnavailable(refused);
      expect((await send(app, 'GET', `/api/v1/entities/${entity.id}`)).body).toEqual(entity);
    } finally {
      await foreign.close();
    }
    await expectHealed();
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 1, provenanceEntries: 2 });
    expect((await post()).status).toBe(201);
    await chainIsValid(app);
  });

  it('because its files are removed: 503, also for health', async () => {
    await createEntity(app);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${database.path}${suffix}`);
    await expectUnavailable(await post());
    await expectUnavailable(await post());
  });

  it('because its files were moved: 503, until they are back', async () => {
    await createEntity(app);
    for (const suffix of ['', '-wal', '-shm'])
      renameSync(`${database.path}${suffix}`, `${database.path}-away${suffix}`);
    expect((await health()).status).toBe(503);
    await expectUnavailable(await post());
    await expect(app.application.get(Database).openReader()).rejects.toMatchObject({ driverCode: 'MOVED' });
    for (const suffix of ['', '-wal', '-shm'])
      renameSync(`${database.path}-away${suffix}`, `${database.path}${suffix}`);
    await expectHealed();
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 1, provenanceEntries: 1 });
    expect((await post()).status).toBe(201);
    await chainIsValid(app);
  });

  it('because another file took its place: 503, and the other file is not touched', async () => {
    const other = await temporaryDatabase();
    try {
      const second = await createTestApp({ environment: other.environment });
      await second.close();
      await createEntity(app);
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${database.path}${suffix}`);
      copyFileSync(other.path, database.path);
      await expectUnavailable(await post());
      await expectUnavailable(await post());
      await sleep(1200);
      expect((await health()).status).toBe(503);
      expect(readFileSync(database.path)).toEqual(readFileSync(other.path));
    } finally {
      await other.remove();
    }
  });

  it('because its write-ahead log is gone: 503 until a restart, as further writes would be lost', async () => {
    await createEntity(app);
    rmSync(`${database.path}-wal`);
    await expectUnavailable(await post());
    await expectUnavailable(await post());
    await sleep(1200);
    expect((await health()).status).toBe(503);
  });

  describe('statement by statement', () => {
    /** The next statement with this beginning fails, either after it was executed or instead. */
    function failOnce(beginning: string, when: 'instead' | 'after', kind: FaultKind, meanwhile?: () => void): void {
      const original: RunAll = Reflect.get(SqliteConnection.prototype, 'runAll');
      let isDue = true;
      const faulty: RunAll = async function (this: SqlConnection, statements) {
        for (const statement of statements) {
          const isFailing = isDue && statement.sql.startsWith(beginning);
          if (isFailing) isDue = false;
          if (!isFailing || when === 'after') await original.call(this, [statement]);
          if (isFailing) meanwhile?.();
          if (isFailing) throw new DatabaseFault(kind, 'SQLITE_FULL', 'database or disk is full');
        }
      };
      jest.spyOn(SqliteConnection.prototype, 'runAll').mockImplementation(faulty);
    }

    /**
     * The next statement with this beginning fails as on a faulty disk, where SQLite ends the transaction by itself.
     */
    function rollBackOnce(beginning: string): void {
      const original: RunAll = Reflect.get(SqliteConnection.prototype, 'runAll');
      let isDue = true;
      const faulty: RunAll = async function (this: SqlConnection, statements) {
        const failing = statements.findIndex(({ sql }) => isDue && sql.startsWith(beginning));
        if (failing < 0) return original.call(this, statements);
        isDue = false;
        await original.call(this, [...statements.slice(0, failing), { sql: 'ROLLBACK', parameters: [] }]);
        throw new DatabaseFault('unavailable', 'SQLITE_IOERR', 'disk I/O error');
      };
      jest.spyOn(SqliteConnection.prototype, 'runAll').mockImplementation(faulty);
    }

    it.each(['BEGIN', 'INSERT INTO "ledger_entries"', 'INSERT INTO "entities"', 'UPDATE "ledger_head"', 'COMMIT'])(
      'a full disk at %s fails the whole batch with 503, writes nothing, and the next write goes through',
      async (beginning) => {
        const { id } = await createEntity(app);
        failOnce(beginning, 'instead', 'unavailable');
        const answers = await Promise.all([post(), post(), send(app, 'DELETE', `/api/v1/entities/${id}`)]);
        for (const answer of answers) {
          if (answer.status !== 503) continue;
          expect(answer).toMatchObject(UNAVAILABLE);
        }
        const failed = answers.filter(({ status }) => status === 503).length;
        expect(failed).toBeGreaterThan(0);
        const { provenanceEntries } = (await send(app, 'GET', '/api/v1/stats')).body;
        expect(provenanceEntries).toBe(4 - failed);
        expect((await post()).status).toBe(201);
        expect((await health()).status).toBe(200);
        await chainIsValid(app);
      },
    );

    it.each(['INSERT INTO "ledger_entries"', 'UPDATE "ledger_head"'])(
      'a disk error at %s, which makes SQLite roll back by itself, stores no key for the write that did not take place',
      async (beginning) => {
        await createEntity(app);
        rollBackOnce(beginning);
        const headers = { 'idempotency-key': 'once' };
        const options = { body: ENTITY, headers };
        expect(await send(app, 'POST', '/api/v1/entities', options)).toMatchObject(UNAVAILABLE);
        await expectHealed();
        const { status, body, headers: responseHeaders } = await send(app, 'POST', '/api/v1/entities', options);
        expect([status, responseHeaders.get('idempotent-replayed')]).toEqual([201, null]);
        expect((await send(app, 'GET', `/api/v1/entities/${body.id}`)).body).toEqual(body);
        await chainIsValid(app);
      },
    );

    it('a COMMIT that fails after it took place is answered as the success it is', async () => {
      failOnce('COMMIT', 'after', 'unavailable');
      const { status, body } = await post();
      expect(status).toBe(201);
      expect((await send(app, 'GET', `/api/v1/entities/${body.id}`)).body).toEqual(body);
      expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 1, provenanceEntries: 1 });
      await chainIsValid(app);
    });

    it('a COMMIT that fails while the file is gone ends the process, since its outcome cannot be known', async () => {
      const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
        throw new Error('exit');
      });
      failOnce('COMMIT', 'instead', 'unavailable', () => rmSync(database.path));
      expect((await post()).status).not.toBe(201);
      expect(exit).toHaveBeenCalledWith(74);
    });

    it('a storage error at COMMIT ends the process, and no request is answered', async () => {
      const exit = jest.spyOn(process, 'exit').mockImplementation(() => {
        throw new Error('exit');
      });
      failOnce('COMMIT', 'instead', 'storage');
      expect((await post()).status).not.toBe(201);
      expect(exit).toHaveBeenCalledWith(74);
    });
  });
});
