import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../../src/ledger/database/database';
import { PostgresConnection } from '../../../src/ledger/database/postgres/postgres-connection';
import { serverConfig } from '../../../src/ledger/database/postgres/postgres-settings';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { Notes, NotesModule } from '../../support/application/notes.module';
import { send, type Answer } from '../../support/application/send';
import { COMMIT, openDatabaseGate, type TcpGate } from '../../support/application/tcp-gate';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

/** Milliseconds: five times what is promised. */
const IN_TIME = 5 * 2_000;
/** Milliseconds: longer than the service waits for a server that is gone. */
const SLOW = 3_000;

describe('The service, cut off from its server,', () => {
  let database: TemporaryDatabase;
  let gate: TcpGate;
  let app: TestApp;
  let url: string;

  beforeEach(async () => {
    database = await temporaryDatabase();
    ({ gate, url } = await openDatabaseGate(database.environment.DATABASE_URL));
    const environment = { ...database.environment, DATABASE_URL: url, LOG_LEVEL: 'fatal' };
    app = await createTestApp({ environment, modules: [NotesModule] });
    // Each kind of session is open; the writer's has not yet sent the text of COMMIT, which it sends only once.
    await Promise.all([readRepository(), ...readers.map((read) => read())]);
  });
  afterEach(async () => {
    gate.open();
    await untilStatus(post, 201);
    const answers = await Promise.all(readers.map((read) => read()));
    expect(answers.map(({ status }) => status)).toEqual(readers.map(() => 200));
    await chainIsValid(app);
    await app.close();
    await gate.close();
    await database.remove();
  });

  const get = (path: string) => (): Promise<Answer> => send(app, 'GET', `/api/v1${path}`);
  const readers = ['/entities', '/provenance', '/stats', '/health/ready'].map((path) => get(path));
  const post = (): Promise<Answer> =>
    send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'gateway' } });
  const readRepository = (): Promise<unknown> => app.application.get(Notes, { strict: false }).repository.find();
  const isCutOff = (): boolean => app.application.get(Database).isCutOff;

  /** Sends one of each kind, and expects 503 in time. */
  async function areRefused(): Promise<void> {
    const began = Date.now();
    const answers = await Promise.all([...readers, post, post].map((request) => request()));
    expect(Date.now() - began).toBeLessThan(IN_TIME);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
  }

  it('answers 503 in time, before and after it has noticed, and recovers', async () => {
    gate.hold();
    await areRefused();
    expect(isCutOff()).toBe(true);
    await areRefused();
    await expect(readRepository()).rejects.toThrow(/cannot be reached/);
    // Longer than the driver waits for a connection.
    await sleep(6_000);
    await areRefused();
  });

  it.each([
    ['no key', null],
    ['a key that is not valid', `agk_${'0'.repeat(26)}_${'x'.repeat(43)}`],
  ])('still answers what is public, to %s', async (_what, key) => {
    gate.hold();
    await areRefused();
    const ask = async (path: string): Promise<number> => (await send(app, 'GET', path, { key })).status;
    expect([await ask('/api/v1/health/live'), await ask('/docs/openapi.json')]).toEqual([200, 200]);
    expect([await ask('/api/v1/health/ready'), await ask('/api/v1/me')]).toEqual([503, key === null ? 401 : 503]);
  });

  it('refuses requests that wait for a COMMIT of unknown outcome, and answers that one when the server is back', async () => {
    const isHeld = gate.holdAt(COMMIT);
    const committed = post();
    await isHeld;
    const behind = post();
    gate.hold();
    const began = Date.now();
    expect((await behind).status).toBe(503);
    expect((await post()).status).toBe(503);
    expect(Date.now() - began).toBeLessThan(IN_TIME);
    gate.open();
    expect((await committed).status).toBe(503);
  });

  it('does not regard a slow server as gone, neither during a statement nor during a COMMIT', async () => {
    const { lists } = app.application.get(Database);
    const isHeld = gate.holdAt(COMMIT);
    const slow = lists.all(`SELECT pg_sleep(${SLOW / 1_000}), 'slow' AS "is"`);
    const committed = post();
    await isHeld;
    // Other sessions would receive something.
    await sleep(SLOW - 500);
    expect(isCutOff()).toBe(false);
    await expect(slow).resolves.toMatchObject([{ is: 'slow' }]);
    expect((await get('/stats')()).status).toBe(200);
    gate.cut();
    gate.open();
    expect((await committed).status).toBe(503);
  });

  it('regards a session that no longer answers as lost', async () => {
    const connection = await PostgresConnection.open({ ...serverConfig(url), query_timeout: 300 });
    const isHeld = gate.holdAt('4711');
    const unanswered = connection.all('SELECT 4711');
    await isHeld;
    await expect(unanswered).rejects.toThrow('Query read timeout');
    expect(connection.isLost).toBe(true);
    await connection.close();
  });
});
