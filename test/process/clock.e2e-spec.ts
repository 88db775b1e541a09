import { setTimeout as sleep } from 'node:timers/promises';
import { startFailure } from '../../src/program/start/start-failure';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite, onPostgres } from '../support/database/database-kind';
import { chainIsValid, createEntity } from '../support/application/factories';
import { moveTime, restoreTime, setClock } from '../support/database/moved-time';
import { send, type Answer } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const UNAVAILABLE = {
  status: 503,
  body: { error: { code: 'UNAVAILABLE', message: expect.stringContaining('clock has jumped') } },
};

describe('A clock that is wrong', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let log: string;

  beforeEach(async () => {
    log = '';
    database = await temporaryDatabase();
    app = await start();
  });
  afterEach(async () => {
    await restoreTime();
    await app.close();
    await database.remove();
  });

  function start(environment: Record<string, string> = {}): Promise<TestApp> {
    const logStream = { write: (line: string): void => void (log += line) };
    return createTestApp({ environment: { ...database.environment, ...environment }, logStream });
  }

  async function restart(environment?: Record<string, string>): Promise<void> {
    await app.close();
    app = await start(environment);
  }

  const post = (): Promise<Answer> =>
    send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'Payment gateway' } });
  const probe = async (path: string): Promise<number> =>
    (await send(app, 'GET', `/api/v1/health${path}`, { key: null })).status;
  const fatalLines = (): string[] => log.split('\n').filter((line) => line.includes('THE CLOCK OF THIS MACHINE'));

  it.each([
    ['ahead by 25 hours', 25 * HOUR],
    ['ahead by 61 minutes', 61 * MINUTE],
    ['back by 2 hours', -2 * HOUR],
  ])('set %s while the service runs ends all writing until a restart', async (_what, distance) => {
    const entity = await createEntity(app);
    await setClock(distance);
    expect(await post()).toMatchObject(UNAVAILABLE);
    expect([await probe(''), await probe('/ready'), await probe('/live')]).toEqual([503, 503, 200]);
    expect((await send(app, 'GET', `/api/v1/entities/${entity.id}`)).body).toEqual(entity);
    // Neither clock is known to be right.
    await restoreTime();
    expect(await post()).toMatchObject(UNAVAILABLE);
    expect(await probe('/ready')).toBe(503);
    expect(fatalLines()).toHaveLength(1);
    expect((await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries).toBe(1);

    await restart();
    const { status, body } = await post();
    expect(status).toBe(201);
    expect(Math.abs(Date.parse(body.createdAt) - Date.now())).toBeLessThan(MINUTE);
    expect(await probe('/ready')).toBe(200);
    await chainIsValid(app);
  });

  it('is noticed by a probe, without a write', async () => {
    await setClock(25 * HOUR);
    expect(await probe('/ready')).toBe(503);
    expect(fatalLines()).toHaveLength(1);
  });

  itOnSqlite('is noticed without any request', async () => {
    await setClock(25 * HOUR);
    while (fatalLines().length === 0) await sleep(50);
  });

  it.each([
    ['ahead by 59 minutes', 59 * MINUTE],
    ['back by 59 minutes', -59 * MINUTE],
  ])('by a step that is allowed, %s, stops nothing', async (_what, distance) => {
    await setClock(distance);
    expect((await post()).status).toBe(201);
    expect(await probe('/ready')).toBe(200);
  });

  it('by no more than MAX_CLOCK_STEP stops nothing', async () => {
    await restart({ MAX_CLOCK_STEP: String(26 * HOUR) });
    await setClock(25 * HOUR);
    expect((await post()).status).toBe(201);
    expect(await probe('/ready')).toBe(200);
  });

  it('is not suspected after the machine has slept', async () => {
    await moveTime(25 * HOUR);
    expect((await post()).status).toBe(201);
    expect(await probe('/ready')).toBe(200);
  });

  if (onPostgres) {
    it('from the start on does no harm: the ledger uses the clock of the database', async () => {
      const real = Date.now();
      await app.close();
      await setClock(25 * HOUR);
      app = await start();
      const { status, body } = await post();
      expect(status).toBe(201);
      expect(Math.abs(Date.parse(body.createdAt) - real)).toBeLessThan(MINUTE);
      await restoreTime();
    });
  }

  describe('at a start', () => {
    /** Writes the last entry at a future time, and returns that time. */
    async function writeAhead(distance: number): Promise<string> {
      await app.close();
      await moveTime(distance);
      app = await start();
      const { createdAt } = await createEntity(app);
      await app.close();
      await restoreTime();
      return createdAt;
    }

    /** Returns what the program would print. */
    async function refusal(environment: Record<string, string> = {}): Promise<string> {
      const { exitCode, message } = startFailure(await start(environment).catch((error: unknown) => error));
      expect(exitCode).toBe(65);
      return message;
    }

    it('is refused if the last entry lies too far ahead, unless its time is accepted', async () => {
      const headTime = await writeAhead(2 * HOUR);
      const message = await refusal();
      expect(message).toContain(`was written at ${headTime}`);
      expect(message).toContain(`ACCEPT_HEAD_TIME=${headTime}:`);
      expect(message).not.toContain('\n');
      await refusal({ ACCEPT_HEAD_TIME: new Date(Date.parse(headTime) + 1).toISOString() });

      app = await start({ ACCEPT_HEAD_TIME: headTime });
      // The ledger's time does not advance until the clock has caught up.
      expect((await createEntity(app)).createdAt).toBe(headTime);
      expect(await probe('/ready')).toBe(200);
      await chainIsValid(app);
    });

    it('succeeds if the last entry lies a little ahead', async () => {
      const headTime = await writeAhead(59 * MINUTE);
      app = await start();
      expect((await createEntity(app)).createdAt).toBe(headTime);
    });
  });
});
