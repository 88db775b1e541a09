import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlRow, SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { addClaim, chainIsValid, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Answer, send, type Sent } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** Together they are larger than what a batch reads, even if a few are in a batch of their own. */
const ENTITIES = 24;
const LARGE = 1_000_000;
const MEBIBYTE = 1024 * 1024;
/** A batch reads 512 KiB, plus what the command that exceeds this requests. */
const BATCH = 3 * MEBIBYTE;

type All = (this: SqlConnection, sql: string, parameters?: readonly SqlValue[]) => Promise<SqlRow[]>;
type Run = (this: SqlConnection, sql: string, parameters?: readonly SqlValue[]) => Promise<void>;
type Commit = (this: SqlConnection) => Promise<void>;

/** Characters that one batch read from the database. */
interface ReadBatch {
  read: number;
}

describe('What a batch reads of large records', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let ids: string[];
  let batches: ReadBatch[];
  /** Called once, after the first observed batch. */
  let afterFirst: (() => Promise<unknown>) | null;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: { ...database.environment, BODY_TOTAL_LIMIT: String(200 * MEBIBYTE) } });
    ids = [];
    const properties = { text: 'x'.repeat(LARGE) };
    for (let made = 0; made < ENTITIES; made += 1) ids.push((await createEntity(app, { properties })).id);
  });
  beforeEach(() => {
    batches = [];
    afterFirst = null;
    watchBatches();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await app.close();
    await database.remove();
  });

  /** Counts what the writing connection reads between the begin and the end of each batch. */
  function watchBatches(): void {
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const all: All = Reflect.get(Connection.prototype, 'all');
    const open = new Map<SqlConnection, ReadBatch>();
    const run: Run = Reflect.get(Connection.prototype, 'run');
    const commit: Commit = Reflect.get(Connection.prototype, 'commit');
    const reading: All = async function (this: SqlConnection, sql, parameters) {
      const rows = await all.call(this, sql, parameters);
      const batch = open.get(this);
      if (batch !== undefined) batch.read += rows.reduce((sum, row) => sum + lengthOf(row), 0);
      return rows;
    };
    const ended = async (connection: SqlConnection): Promise<void> => {
      const batch = open.get(connection);
      if (batch === undefined) return;
      open.delete(connection);
      batches.push(batch);
      const next = afterFirst;
      afterFirst = null;
      await next?.();
    };
    const running: Run = async function (this: SqlConnection, sql, parameters) {
      if (sql.startsWith('BEGIN')) open.set(this, { read: 0 });
      await run.call(this, sql, parameters);
      if (sql === 'ROLLBACK') await ended(this);
    };
    jest.spyOn(Connection.prototype, 'commit').mockImplementation(async function (this: SqlConnection) {
      await commit.call(this);
      await ended(this);
    });
    jest.spyOn(Connection.prototype, 'all').mockImplementation(reading);
    jest.spyOn(Connection.prototype, 'run').mockImplementation(running);
  }

  /** Repeats the request if a busy machine made it wait for too long, in which case nothing was written. */
  async function insist(method: string, id: string, sent: Sent = {}): Promise<Answer> {
    for (;;) {
      const answer = await send(app, method, `/api/v1/entities/${id}`, sent);
      if (answer.status !== 503) return answer;
    }
  }

  const total = (): number => batches.reduce((sum, { read }) => sum + read, 0);
  const largest = (): number => Math.max(...batches.map(({ read }) => read));

  it('is nothing for claims about them: it is enough to know that they exist', async () => {
    const claims = await Promise.all(ids.map((id) => addClaim(app, id)));
    await Promise.all(
      ids.map((id, index) => send(app, 'DELETE', `/api/v1/entities/${id}/claims/${claims[index]?.id}`)),
    );
    expect(total()).toBeLessThan(MEBIBYTE);
    const missing = ids.map((id) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`);
    const answers = await Promise.all(
      missing.map((id) => send(app, 'POST', `/api/v1/entities/${id}/claims`, { body: { predicate: 'p', value: 1 } })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  });

  it('is bounded when they are changed, and each record is read once', async () => {
    const answers = await Promise.all(ids.map((id) => insist('PUT', id, { body: { name: 'renamed' } })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(batches.length).toBeGreaterThan(1);
    expect(largest()).toBeLessThan(BATCH);
    expect(total()).toBeLessThan(ENTITIES * LARGE * 1.2);
  });

  it('is current even if another process wrote between two batches', async () => {
    const last = ids.at(-1) ?? '';
    const other = onPostgres ? await createTestApp({ environment: database.environment }) : app;
    try {
      // The first commit may be another connection's, whose batches do not wait for this write.
      const written = new Promise<number | null>((resolve) => {
        afterFirst = async () => {
          const write = { body: { type: 'of-another' } };
          resolve(onPostgres ? (await send(other, 'PUT', `/api/v1/entities/${last}`, write)).status : null);
        };
      });
      await Promise.all(ids.map((id) => insist('PUT', id, { body: { name: 'again' } })));
      expect(await written).toBe(onPostgres ? 200 : null);
      const { body } = await send(app, 'GET', `/api/v1/entities/${last}`);
      expect(body).toMatchObject({ name: 'again', type: onPostgres ? 'of-another' : 'service' });
      expect(body.revision).toBe(onPostgres ? 4 : 3);
      await chainIsValid(app);
    } finally {
      if (onPostgres) await other.close();
    }
  });

  it('is one of them when an agent asks again, whichever of many requests is the answer', async () => {
    const [bot, ...people] = await Promise.all(
      ['bot', 'ann', 'ben', 'eve'].map((name) =>
        createAgent(app, { name, kind: name === 'bot' ? 'machine' : 'human', capabilities: ['refund'] }),
      ),
    );
    const request = {
      action: 'refund',
      resourceType: 'payment',
      resourceId: 'large',
      parameters: { text: 'x'.repeat(LARGE) },
    };
    const ask = (): Promise<Answer> => send(app, 'POST', `/api/v1/agents/${bot?.id}/execute`, { body: request });
    const made: Answer[] = [];
    for (const [version, { id }] of people.entries()) {
      const approval = { approvers: [{ subjects: [id] }] };
      const rule = { name: 'large', version: String(version), effect: 'require_approval', actions: ['refund'] };
      await createPolicy(app, { ...rule, approval });
      made.push(await ask());
    }
    expect(new Set(made.map(({ status, body }) => [status, body.id].join())).size).toBe(people.length);
    batches = [];
    const again = await ask();
    expect(again).toMatchObject({ status: 202, body: { id: made.at(-1)?.body.id } });
    expect(largest()).toBeGreaterThan(LARGE);
    expect(largest()).toBeLessThan(1.5 * LARGE);
  });

  it('is bounded when they are removed', async () => {
    const answers = await Promise.all(ids.map((id) => insist('DELETE', id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect(largest()).toBeLessThan(BATCH);
    expect(total()).toBeLessThan(ENTITIES * LARGE * 1.2);
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 0, claims: 0 });
    await chainIsValid(app);
  });
});

function lengthOf(row: SqlRow): number {
  return Object.values(row).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
}
