import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseFault } from '../../../src/ledger/database/database-fault';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { onServer } from '../../support/database/database-server';
import { chainIsValid, createEntity } from '../../support/application/factories';
import { foreignConnection } from '../../support/database/foreign-connection';
import { addNote, NOTE, Notes, NotesModule } from '../../support/application/notes.module';
import { metric } from '../../support/application/metric';
import { send, type Answer } from '../../support/application/send';
import { openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const ENTITIES = '/api/v1/entities';
const CLIENTS = 16;
const WAITING = `SELECT count(*)::integer AS "waiting" FROM pg_locks WHERE NOT granted
  AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`;

/** Makes the next COMMIT fail as if the connection were lost; `before` runs first and may send it. */
function failNextCommit(before: (connection: SqlConnection) => Promise<unknown>): jest.SpyInstance {
  const spy = jest.spyOn(PostgresConnection.prototype, 'commit');
  return spy.mockImplementation(async function (this: SqlConnection) {
    spy.mockRestore();
    await before(this);
    throw new DatabaseFault('unavailable', 'CONNECTION', 'Connection terminated unexpectedly');
  });
}

describe('The service, when its sessions end', () => {
  let database: TemporaryDatabase;
  let gate: TcpGate;
  let app: TestApp;
  let notes: Notes;

  beforeAll(async () => {
    database = await temporaryDatabase();
    const opened = await openDatabaseGate(database.environment.DATABASE_URL);
    gate = opened.gate;
    const environment = { ...database.environment, DATABASE_URL: opened.url };
    app = await createTestApp({ environment, modules: [NotesModule] });
    notes = app.application.get(Notes, { strict: false });
  });
  afterEach(async () => {
    await healed();
    await chainIsValid(app);
    const { entities, provenanceEntries } = (await send(app, 'GET', '/api/v1/stats')).body;
    expect((await send(app, 'GET', `${ENTITIES}?limit=1`)).body.total).toBe(entities);
    expect((await send(app, 'GET', '/api/v1/provenance?limit=1')).body.total).toBe(provenanceEntries);
  });
  afterAll(async () => {
    await app.close();
    await gate.close();
    await database.remove();
  });

  const post = (name: string): Promise<Answer> => send(app, 'POST', ENTITIES, { body: { type: 'service', name } });
  const health = async (): Promise<number> => (await send(app, 'GET', '/api/v1/health')).status;

  async function healed(): Promise<void> {
    while ((await health()) !== 200) await sleep(50);
  }

  /** Ends every session of the service, as a server restart or an administrator would. */
  async function endSessions(): Promise<void> {
    await onServer(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      database.environment.DATABASE_URL,
    );
  }

  async function stored(type: string): Promise<number> {
    return (await send(app, 'GET', `${ENTITIES}?limit=1&type=${type}`)).body.total;
  }

  it('while idle, replaces them unnoticed', async () => {
    await createEntity(app);
    await notes.repository.find();
    await endSessions();
    // The sessions are gone; the service has yet to notice.
    await sleep(200);
    expect((await post('after')).status).toBe(201);
    expect((await send(app, 'GET', ENTITIES)).status).toBe(200);
    expect(await notes.repository.find()).toEqual([]);
    expect(await health()).toBe(200);
  });

  it('under load, keeps everything that it acknowledged, and nothing that it refused', async () => {
    const stopped = new AbortController();
    const storedIds: string[] = [];
    const others = new Set<number>();
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!stopped.signal.aborted) {
        const { status, body } = await send(app, 'POST', ENTITIES, { body: { type: 'load', name: 'x' } });
        if (status === 201) storedIds.push(body.id);
        else others.add(status);
        const read = await send(app, 'GET', `${ENTITIES}/${storedIds.at(-1) ?? 'none'}`);
        if (read.status !== 200) others.add(read.status);
      }
    });
    for (let kills = 0; kills < 25; kills += 1) {
      await endSessions();
      await sleep(120);
    }
    stopped.abort();
    await Promise.all(clients);
    await healed();
    others.delete(404); // Before the first is kept.
    expect([...others].filter((status) => status !== 503)).toEqual([]);
    expect(storedIds.length).toBeGreaterThan(CLIENTS);
    expect(await stored('load')).toBe(storedIds.length);
    const answers = await Promise.all(storedIds.slice(-300).map((id) => send(app, 'GET', `${ENTITIES}/${id}`)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it.each([
    ['before', 503, 0],
    ['after', 201, 1],
  ] as const)('%s a COMMIT reached the server answers %i', async (when, status, rows) => {
    const type = `commit-${when}`;
    const commit = failNextCommit(async (connection) => {
      if (when === 'after') await connection.commit();
      await endSessions();
    });
    const answer = await send(app, 'POST', ENTITIES, { body: { type, name: 'x' } });
    commit.mockRestore();
    expect(answer.status).toBe(status);
    await healed();
    expect(await stored(type)).toBe(rows);
  });

  it('because the network is cut, answers writes and reads with 503, stays alive, and recovers', async () => {
    gate.cut();
    await sleep(100);
    expect(await health()).toBe(503);
    expect(await post('cut')).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    const read = await send(app, 'GET', ENTITIES);
    expect(read).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    expect(read.headers.get('retry-after')).toMatch(/^\d+$/);
    gate.open();
    await healed();
    expect((await post('open')).status).toBe(201);
  });

  it('because the network has gone silent, answers 503 within a bounded time, and recovers', async () => {
    gate.hold();
    const answers = await Promise.all([post('held'), send(app, 'GET', ENTITIES), send(app, 'GET', '/api/v1/stats')]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(await health()).toBe(503);
    gate.open();
    gate.cut();
    gate.open();
    await healed();
    expect((await post('open')).status).toBe(201);
  });

  describe('or when somebody else locks its head row', () => {
    let foreign: SqlConnection;

    beforeEach(async () => {
      foreign = await foreignConnection(app);
      await foreign.run('BEGIN');
      await foreign.run('SELECT * FROM ledger_head FOR UPDATE');
    });
    afterEach(() => foreign.close());

    it('refuses writes with 503 in time, continues to read, and is ready, as the database works', async () => {
      const begin = Date.now();
      const refused = post('locked');
      await sleep(5_000);
      expect(await health()).toBe(200);
      expect(await refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
      expect(Date.now() - begin).toBeLessThan(60_000);
      expect((await send(app, 'GET', ENTITIES)).status).toBe(200);
      expect(await health()).toBe(200);
      await foreign.run('ROLLBACK');
      expect((await post('free')).status).toBe(201);
    });

    it('waits if the lock is released in time', async () => {
      const agent = { body: { name: 'waited' } };
      const waiting = Promise.all([post('waited'), send(app, 'POST', '/api/v1/agents', agent)]);
      // Longer than a single attempt waits.
      await sleep(4_000);
      await foreign.run('ROLLBACK');
      expect((await waiting).map(({ status }) => status)).toEqual([201, 201]);
    });

    it('adds commands that arrive meanwhile to the waiting batch', async () => {
      const batches = await metric(app, 'governance_ledger_batch_commands_count');
      const agent = (): Promise<Answer> => send(app, 'POST', '/api/v1/agents', { body: { name: 'waits' } });
      const first = agent();
      while (!(await isWaiting())) await sleep(10);
      const late = [agent(), ...Array.from({ length: 30 }, (_unused, index) => post(`late ${index}`))];
      while ((await metric(app, 'governance_ledger_queue_commands')) < late.length) await sleep(10);
      await foreign.run('ROLLBACK');
      expect((await first).status).toBe(201);
      const statuses = (await Promise.all(late)).map(({ status }) => status);
      expect(statuses).toEqual([409, ...Array.from({ length: 30 }, () => 201)]);
      expect(await metric(app, 'governance_ledger_batch_commands_count')).toBe(batches + 1);
    });

    async function isWaiting(): Promise<boolean> {
      const [row] = await foreign.all<{ waiting: number }>(WAITING);
      return row?.waiting === 1;
    }
  });

  it('refuses a command that swallows a failed statement, but none of the others', async () => {
    const results = await Promise.allSettled([
      notes.add('first'),
      notes.write(async (transaction) => {
        addNote(transaction, 'swallower');
        // PostgreSQL cannot store NUL in a text.
        await expect(transaction.findBy(NOTE, { slug: '\0' })).rejects.toThrow(DatabaseFault);
      }),
      notes.add('last'),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const rows = await Promise.all(['first', 'swallower', 'last'].map((slug) => notes.reader.findBy(NOTE, { slug })));
    expect(rows.map((note) => note?.slug)).toEqual(['first', undefined, 'last']);
  });
});
