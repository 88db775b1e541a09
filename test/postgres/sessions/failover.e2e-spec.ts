import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../../src/ledger/database/database';
import type { SqlSessions } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { onServer } from '../../support/database/database-server';
import { chainIsValid, createEntity } from '../../support/application/factories';
import { Notes, NotesModule } from '../../support/application/notes.module';
import { send, type Answer } from '../../support/application/send';
import { openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { describeWithPostgresCluster, postgresCluster, type PostgresCluster } from '../support/postgres-cluster';
import { endSessions, replayed, untilStatus } from '../support/sessions';

/** Each kind of session but the writer's. */
const READERS: readonly [string, (app: TestApp) => Promise<unknown>][] = [
  ['single records', ({ application }) => application.get(Database).points.all('SELECT 1')],
  ['lists', ({ application }) => application.get(Database).lists.all('SELECT 1')],
  ['verification', ({ application }) => application.get(Database).chain.all('SELECT 1')],
  ['verification of counters', ({ application }) => once(application.get(Database).openReader())],
  ['the progress of webhooks', ({ application }) => application.get(Database).sideConnection.all('SELECT 1')],
  ['repositories', ({ application }) => application.get(Notes, { strict: false }).repository.find()],
];

/** Reads in a session of its own, as these are opened when they are needed. */
async function once(opening: Promise<SqlSessions>): Promise<unknown> {
  const session = await opening;
  try {
    return await session.all('SELECT 1');
  } finally {
    await session.close();
  }
}

/**
 * Says who answered a read, or why nobody did; it is repeated while the pool has not noticed that its session was
 * ended.
 */
async function untilAnswered(sessions: SqlSessions): Promise<string> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await sessions
      .all<{ isReplica: boolean }>('SELECT pg_is_in_recovery() AS "isReplica"')
      .then(([row]) => (row?.isReplica === false ? 'the primary' : 'a replica'), String);
    if (!/terminat|not queryable/.test(answer) || Date.now() > deadline) return answer;
  }
}

describeWithPostgresCluster('Behind a name that leads to one server or another, the service', () => {
  let folder: string;
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let third: PostgresCluster | undefined;
  let gate: TcpGate;
  let app: TestApp;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-failover-'));
    primary = await postgresCluster();
    standby = await primary.standby();
    const opened = await openDatabaseGate(primary.url);
    gate = opened.gate;
    const environment = { DATABASE_URL: opened.url, CHECKPOINT_FOLDER: folder, LOG_LEVEL: 'fatal' };
    app = await createTestApp({ environment, modules: [NotesModule] });
  });
  afterAll(async () => {
    await app.close();
    await gate.close();
    [third, standby, primary].forEach((cluster) => cluster?.remove());
    rmSync(folder, { recursive: true, force: true });
  });

  const post = (): Promise<Answer> =>
    send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'gateway' } });
  const get = (id: string): Promise<Answer> => send(app, 'GET', `/api/v1/entities/${id}`);

  it.each(READERS)('refuses a session for %s on a standby, and reads from the primary again', async (_kind, read) => {
    await createEntity(app);
    await read(app);
    gate.aim(standby.port);
    await endSessions(primary, 'readers');
    await expect(read(app)).rejects.toThrow(/is a standby/);
    gate.aim(primary.port);
    await expect(read(app)).resolves.toBeDefined();
  });

  it('does not answer from a lagging standby, and finds what it has acknowledged', async () => {
    await onServer('SELECT pg_wal_replay_pause()', standby.url);
    const { id } = await createEntity(app);
    gate.aim(standby.port);
    await endSessions(primary, 'readers');
    expect((await get(id)).status).toBe(503);
    expect((await send(app, 'GET', '/api/v1/entities')).status).toBe(503);
    // The writer's session stays open.
    expect((await post()).status).toBe(201);
    gate.aim(primary.port);
    expect((await get(id)).status).toBe(200);
    await onServer('SELECT pg_wal_replay_resume()', standby.url);
  });

  it('reads from the primary while sessions that were being opened on a standby are refused', async () => {
    const { id } = await createEntity(app);
    gate.aim(standby.port);
    await endSessions(primary, 'readers');
    gate.slow(300);
    const { points } = app.application.get(Database);
    // Each session opens a connection.
    const connected = gate.connected(2);
    const answers = Promise.all([untilAnswered(points), untilAnswered(points)]);
    // Sessions, of these reads or of the service's own, are connected to the standby, which they know only three
    // answers later.
    await connected;
    gate.aim(primary.port);
    const late = get(id);
    for (const answer of await answers) expect(answer).toMatch(/is a standby|^the primary$/);
    expect((await late).status).toBe(200);
    gate.slow(0);
  });

  it('follows a promoted standby, and never returns to a replaced server', async () => {
    const { id } = await createEntity(app);
    await replayed(primary, standby);
    primary.stopHard();
    standby.promote();
    gate.aim(standby.port);
    await untilStatus(() => get(id), 200);
    const { id: later } = await createEntity(app);
    // The replaced server comes back without knowing that it was replaced.
    primary.start();
    gate.aim(primary.port);
    await endSessions(standby, 'readers');
    expect((await get(later)).status).toBe(503);
    expect((await post()).status).toBe(201);
    await endSessions(standby, 'all');
    expect((await post()).status).toBe(503);
    expect((await get(later)).status).toBe(503);
    gate.aim(standby.port);
    await untilStatus(post, 201);
    expect((await get(later)).status).toBe(200);
    await chainIsValid(app);
  });

  it('follows even without writes, when only its readers reach the new primary', async () => {
    const { id } = await createEntity(app);
    third = await standby.standby();
    await replayed(standby, third);
    third.promote();
    gate.aim(third.port);
    await endSessions(standby, 'readers');
    await untilStatus(() => get(id), 200);
    const { id: later } = await createEntity(app);
    expect(await onServer(`SELECT "id" FROM "entities" WHERE "id" = '${later}'`, third.url)).toEqual([{ id: later }]);
    await chainIsValid(app);
  });
});
