import { Database } from '../../src/ledger/database/database';
import type { SqlConnection, SqlSessions, SqlValue } from '../../src/ledger/database/sql-connection';
import { DerivedDataReader } from '../../src/evidence/verification/derived-data-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite, onPostgres } from '../support/database/database-kind';
import {
  addClaim,
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  propose,
} from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { nodesOf, type PlanNode } from '../support/database/postgres-plan';
import { send, type Parsed } from '../support/application/send';

/** Rows per statement in this test, so that small tables have many chunks. */
const CHUNK = 3;
const ROUNDS = 30;
/** Rows that it may additionally look up in other tables. */
const ROWS_READ = 5 * CHUNK;

/** Steps in SQLite's plans. */
const TABLE_SCAN =
  /^SCAN (entities|claims|agents|decisions|policies|executions|live|kept|used|entry|counter|ledger_entries)\b/;
const SORT = 'TEMP B-TREE';

type Statement = [sql: string, parameters: readonly SqlValue[]];
type Count = Readonly<Record<'Actual Rows' | 'Actual Loops' | 'Rows Removed by Filter', number>>;

const itOnPostgres = onPostgres ? it : it.skip;

describe('Counters, list items and the head, verified in chunks,', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let agentId: string;

  beforeAll(async () => {
    app = await createTestApp();
    foreign = await foreignConnection(app);
    agentId = (await createAgent(app, { name: 'proposer', capabilities: ['read'] })).id;
    const { id } = await createEntity(app);
    for (let round = 0; round < ROUNDS; round += 1) {
      await createEntity(app, { type: round % 2 === 0 ? 'thing' : `type ${round}` });
      await addClaim(app, id);
      await propose(app, agentId, { riskLevel: round % 3 === 0 ? 'high' : 'low' });
      await createAgent(app, { name: `agent ${round}`, capabilities: ['read'], roles: [`role ${round}`] });
      await createPolicy(app, { actions: [`action ${round}`] });
    }
    readAtOnce(CHUNK);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  function readAtOnce(rows: number): void {
    Object.assign(app.application.get(DerivedDataReader), { chunkRows: rows });
  }

  async function verdict(): Promise<Parsed> {
    const { status, body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(status).toBe(200);
    return body;
  }

  it('are sound if no row was altered', async () => {
    await chainIsValid(app);
  });

  it.each<[what: string, data: string, name: string, change: string, undo: string]>([
    ...['entities', 'claims', 'entities:type:thing', 'entities:type:type 29', 'agents:capabilities:read'].map(wrong),
    ...['agents:roles:role 7', 'decisions:riskLevel:low', 'policies:status:active'].map(wrong),
    ...['ledger_entries:action:claim.added', 'ledger_entries:outcome:success'].map(wrong),
    ...['entities:type:nothing', 'entities:type:', 'agents:roles:zzz', 'unheard-of', 'zzz:zzz'].map(putIn),
    [
      'a mark of effects that is too early',
      ...['head', 'effectSequence'],
      'UPDATE ledger_head SET "effectSequence" = "effectSequence" - 1',
      'UPDATE ledger_head SET "effectSequence" = "effectSequence" + 1',
    ] as [string, string, string, string, string],
    [
      'a list item of nobody',
      ...['listItems', 'nobody'],
      `INSERT INTO ledger_list_items ("item", "createdSequence", "recordId") VALUES ('agents:roles:role 7x', 1, 'nobody')`,
      `DELETE FROM ledger_list_items WHERE "recordId" = 'nobody'`,
    ] as [string, string, string, string, string],
    [
      'a list item at a sequence that is rounded',
      ...['listItems', 'nobody'],
      `INSERT INTO ledger_list_items ("item", "createdSequence", "recordId") VALUES ('agents:x', ${2n ** 53n + 1n}, 'nobody')`,
      `DELETE FROM ledger_list_items WHERE "recordId" = 'nobody'`,
    ] as [string, string, string, string, string],
  ])('show %s', async (_what, data, name, change, undo) => {
    await foreign.run(change);
    const { valid, invalidRecords, firstInvalidDerived } = await verdict();
    await foreign.run(undo);
    expect({ valid, invalidRecords }).toEqual({ valid: false, invalidRecords: 0 });
    expect(firstInvalidDerived).toContainEqual({ data, name });
    // An uncounted list item also contradicts its counter.
    expect(firstInvalidDerived.filter((fault: Parsed) => fault.data !== 'counter' || data === 'counter')).toHaveLength(
      1,
    );
    await chainIsValid(app);
  });

  it('are found sound at every moment on a busy database', async () => {
    let isWriting = true;
    const writer = async (_unused: unknown, number: number): Promise<void> => {
      for (let turn = 0; isWriting; turn += 1) {
        const { id } = await createEntity(app, { type: `type ${turn % 40}` });
        await addClaim(app, id);
        await createAgent(app, { name: `busy ${number} ${turn}`, roles: [`role ${turn % 40}`] });
        await createPolicy(app);
        await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { type: 'thing' } });
        if (turn % 2 === 0) await send(app, 'DELETE', `/api/v1/entities/${id}`);
      }
    };
    readAtOnce(10 * CHUNK);
    const writers = Promise.all(Array.from({ length: 3 }, writer));
    for (let run = 0; run < 5; run += 1) await chainIsValid(app);
    isWriting = false;
    await writers;
    readAtOnce(CHUNK);
  });

  /** All statements that a verification runs for them. */
  async function statements(): Promise<Statement[]> {
    const seen: Statement[] = [];
    const database = app.application.get(Database);
    const reader = app.application.get(DerivedDataReader);
    const note = (connection: SqlSessions): jest.SpyInstance => {
      const all = connection.all.bind(connection);
      return jest.spyOn(connection, 'all').mockImplementation((sql, parameters = []) => {
        seen.push([sql, parameters]);
        return all(sql, parameters);
      });
    };
    const open = database.openReader.bind(database);
    const opened = jest.spyOn(database, 'openReader').mockImplementation(async () => {
      const connection = await open();
      note(connection);
      return connection;
    });
    const chain = note(database.chain);
    await reader.head();
    for (const chunks of [reader.wrongCounters(false), reader.recordsOfStrayItems()])
      for await (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(CHUNK);
    opened.mockRestore();
    chain.mockRestore();
    return seen.filter(([sql]) => sql.startsWith('SELECT'));
  }

  itOnPostgres('are read a chunk at a time, by each statement', async () => {
    await foreign.run('ANALYZE');
    const session = await app.application.get(Database).openReader();
    const all = await statements();
    expect(all.length).toBeGreaterThan(5 * ROUNDS);
    for (const [sql, parameters] of all) {
      const [row] = await session.all<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        parameters,
      );
      const read = rowsRead(row?.['QUERY PLAN'][0].Plan);
      expect({ sql, parameters, read, isBounded: read <= ROWS_READ }).toMatchObject({ isBounded: true });
    }
    await session.close();
  });

  itOnSqlite('are read through an index, and in its order, by each statement', async () => {
    for (const sql of new Set((await statements()).map(([text]) => text))) {
      const plan = await foreign.all<{ parent: number; detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
      // The rows of one chunk may be sorted.
      const ofChunks = new Set(plan.filter(({ detail }) => detail === 'SCAN chunk').map(({ parent }) => parent));
      const unbounded = plan.filter(
        ({ parent, detail }) => TABLE_SCAN.test(detail) || (detail.includes(SORT) && !ofChunks.has(parent)),
      );
      expect({ sql, plan, unbounded }).toEqual({ sql, plan, unbounded: [] });
    }
  });
});

function wrong(name: string): [string, string, string, string, string] {
  const change = (by: string): string => `UPDATE ledger_counters SET "value" = "value" ${by} WHERE "name" = '${name}'`;
  return [`a wrong counter ${name}`, 'counter', name, change('+ 1'), change('- 1')];
}

function putIn(name: string): [string, string, string, string, string] {
  const insert = `INSERT INTO ledger_counters ("name", "value") VALUES ('${name}', 4)`;
  return [`a counter ${name}`, 'counter', name, insert, `DELETE FROM ledger_counters WHERE "name" = '${name}'`];
}

/** Rows read from tables and indexes, including those that were skipped. */
function rowsRead(plan: PlanNode | undefined): number {
  if (plan === undefined) throw new Error('The server returned no plan.');
  const scans = nodesOf(plan).filter((node) => node['Relation Name'] !== undefined) as unknown as Partial<Count>[];
  return scans.reduce((sum, node) => {
    const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
    return sum + rows * (node['Actual Loops'] ?? 0);
  }, 0);
}
