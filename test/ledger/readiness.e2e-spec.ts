import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { TimeSlice } from '../../src/core/concurrency/time-slice';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { chainIsValid, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { metric } from '../support/application/metric';
import { addNote, NOTE, Notes, NotesModule } from '../support/application/notes.module';
import { send, type Answer } from '../support/application/send';

const UNAVAILABLE = { status: 503, body: { error: { code: 'UNAVAILABLE' } } };
const HEALTHY = 'governance_ledger_healthy';
/** The ledger probes once a second; these machines can be slow. */
const PATIENCE = 60_000;
const COLUMNS = ['sequence', 'hash', 'timestamp', 'lastUlid', 'effectSequence', 'frontier', 'schemaVersion'];
const ZEROS = '0'.repeat(64);

type Commit = (this: SqlConnection) => Promise<void>;

describe('The service is ready if a write would succeed', () => {
  let app: TestApp;
  let notes: Notes;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesModule] });
    notes = app.application.get(Notes, { strict: false });
    foreign = await foreignConnection(app);
    await createEntity(app);
    await createEntity(app);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await expectReady();
    expect((await post()).status).toBe(201);
    await chainIsValid(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  const post = (): Promise<Answer> =>
    send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'Payment gateway' } });
  const probe = async (path: string): Promise<number> =>
    (await send(app, 'GET', `/api/v1/health/${path}`, { key: null })).status;

  async function expectReady(): Promise<void> {
    const deadline = Date.now() + PATIENCE;
    while ((await probe('ready')) !== 200 && Date.now() < deadline) await sleep(50);
    expect(await probe('ready')).toBe(200);
  }

  async function expectNotReady(): Promise<void> {
    expect([await probe('ready'), await probe('live')]).toEqual([503, 200]);
  }

  it.each<[what: string, sql: string]>([
    ['has a tree of another size', `UPDATE ledger_head SET frontier = '0:'`],
    ['has no tree', `UPDATE ledger_head SET frontier = 'x'`],
    ['has no hash', `UPDATE ledger_head SET hash = 'x'`],
    ['has another hash', `UPDATE ledger_head SET hash = '${ZEROS}'`],
    ['went back', `UPDATE ledger_head SET sequence = 1, frontier = '1:${ZEROS}'`],
    ['has a sequence below all', `UPDATE ledger_head SET sequence = -1`],
    ['has no time', `UPDATE ledger_head SET timestamp = 'x'`],
    ['has another time', `UPDATE ledger_head SET timestamp = '2020-01-01T00:00:00.000Z'`],
    ['has no last identifier', `UPDATE ledger_head SET "lastUlid" = 'x'`],
    ['has another last identifier', `UPDATE ledger_head SET "lastUlid" = '${'0'.repeat(26)}'`],
    ['was last changed by an entry to come', `UPDATE ledger_head SET "effectSequence" = 1000000`],
    ['is of a later version of the service', `UPDATE ledger_head SET "schemaVersion" = 9000000000000`],
    ['is gone', `DELETE FROM ledger_head`],
  ])('not while the head record %s', async (_what, sql) => {
    const [head] = await foreign.all(`SELECT * FROM ledger_head`);
    await foreign.run(sql);
    // Before anybody has tried to write.
    await expectNotReady();
    expect(await post()).toMatchObject(UNAVAILABLE);
    expect(await metric(app, HEALTHY)).toBe(0);
    await foreign.run('DELETE FROM ledger_head');
    const names = COLUMNS.map((name) => `"${name}"`).join(', ');
    const places = COLUMNS.map((_name, index) => `$${index + 1}`).join(', ');
    const values = COLUMNS.map((name) => head?.[name] ?? null);
    await foreign.run(`INSERT INTO ledger_head ("id", ${names}) VALUES (1, ${places})`, values);
  });

  it.each(['ledger_entries', 'ledger_counters'])(
    'but not while %s accepts nothing, once a write has failed because of it',
    async (table) => {
      await foreign.run(`ALTER TABLE ${table} RENAME TO "elsewhere"`);
      expect(await post()).toMatchObject(UNAVAILABLE);
      await expectNotReady();
      // The probe, which runs once a second, does not regard this as recovered.
      await sleep(1_500);
      await expectNotReady();
      await foreign.run(`ALTER TABLE "elsewhere" RENAME TO ${table}`);
    },
  );

  it('even if a single faulty command fails, which delays no other', async () => {
    await notes.add('taken');
    await expect(notes.add('taken')).rejects.toThrow();
    expect(await probe('ready')).toBe(200);
  });

  it('even if a command never ends, which delays the others only briefly', async () => {
    let transactionOfTheFirst: { now: string } | null = null;
    const never = notes.write(async (transaction) => {
      transactionOfTheFirst = transaction;
      await transaction.findBy(NOTE, { slug: 'none' });
      return new Promise<null>(() => null);
    });
    const [first, second] = await Promise.allSettled([never, notes.add('next')]);
    expect(first).toMatchObject({ reason: { message: expect.stringContaining('stood still for') } });
    expect(second).toMatchObject({ value: { slug: 'next' } });
    expect(transactionOfTheFirst).not.toBeNull();
    expect(await probe('ready')).toBe(200);
  });

  it('even if a command works without end, which is abandoned before later commands time out', async () => {
    let turns = 0;
    const endless = notes.write(async (transaction) => {
      for (; ; turns += 1) {
        await transaction.findBy(NOTE, { slug: `turn ${turns}` });
        await sleep(100);
      }
    });
    const [first, second] = await Promise.allSettled([endless, notes.add('patient')]);
    const reason = { code: 'UNAVAILABLE', message: expect.stringContaining('did not end within') };
    expect(first).toMatchObject({ reason });
    expect(second).toMatchObject({ value: { slug: 'patient' } });
    expect(turns).toBeGreaterThan(1);
  });

  it('and a long command that makes progress is not abandoned', async () => {
    const long = await notes.write(async (transaction) => {
      for (let made = 0; made < 4; made += 1) {
        await sleep(600);
        addNote(transaction, `long ${made}`);
      }
      return transaction.findBy(NOTE, { slug: 'long 3' });
    });
    expect(long).toMatchObject({ slug: 'long 3' });
  });

  it('and neither is one that works on what it has read, in turns that others delay', async () => {
    const long = await notes.write(async (transaction) => {
      const own = new TimeSlice();
      for (let turn = 0; turn < 8; turn += 1) {
        await sleep(300);
        await own.next();
      }
      return addNote(transaction, 'long in turns');
    });
    expect(long).toMatchObject({ slug: 'long in turns' });
  });

  it('but not while a COMMIT hangs, which is not interrupted and finally succeeds', async () => {
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const commit: Commit = Reflect.get(Connection.prototype, 'commit');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    jest.spyOn(Connection.prototype, 'commit').mockImplementation(async function (this: SqlConnection) {
      await commit.call(this);
      await held;
    });
    const waiting = post();
    await sleep(500);
    expect(await probe('ready')).toBe(200);
    const began = performance.now();
    while ((await probe('ready')) === 200 && performance.now() - began < PATIENCE) await sleep(100);
    await expectNotReady();
    expect(await metric(app, HEALTHY)).toBe(0);
    release();
    expect((await waiting).status).toBe(201);
    expect(await probe('ready')).toBe(200);
  });
});
