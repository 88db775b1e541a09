import { Database } from '../../src/ledger/database/database';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { RecordReader } from '../../src/ledger/reading/record-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { itOnSqlite } from '../support/database/database-kind';
import { addClaim, createAgent, createEntity, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { LIST_CASES } from '../support/requests/list-cases';
import { listStatements } from '../support/database/list-statements';
import { type Parsed, send } from '../support/application/send';

/** Sequences per chunk in this test, so that a small ledger has many chunks. */
const CHUNK = 7;
const ROUNDS = 12;
/** Rows that are counted at once in a ledger of any size. */
const MOST_AT_ONCE = 100;

/** Lists without a counter for their total, with values that only some rows have. */
const UNCOUNTED = [
  'entities/ENTITY/claims',
  'entities/ENTITY/claims?predicate=q',
  'agents?capability=read&status=active',
  'agents?capability=read&role=clerk',
  'decisions?riskLevel=low&proposedBy=AGENT',
  'decisions?riskLevel=low&status=proposed',
  'audit?entityId=ENTITY',
  'audit?entityId=ENTITY&action=claim.added',
  'audit?subjectId=ENTITY',
  'audit?action=claim.added&outcome=success',
  'audit?from=FIRST',
  'audit?to=LAST',
  'audit?from=FIRST&to=LAST',
  'audit?from=FIRST&to=LAST&action=claim.added',
  'audit?from=LATER',
  'audit?to=BEFORE',
  'provenance?after=20',
  'provenance?after=20&action=claim.added',
  'provenance?after=20&from=FIRST&to=LAST',
  'provenance?after=100000',
];

const EMPTY = ['audit?from=LATER', 'audit?to=BEFORE', 'provenance?after=100000'];

describe('The total of a list without a counter, in a ledger too large for one statement', () => {
  let app: TestApp;
  let planner: SqlConnection;
  let entityId: string;
  let agentId: string;
  let first: string;
  let last: string;

  beforeAll(async () => {
    app = await createTestApp();
    planner = await foreignConnection(app);
    entityId = (await createEntity(app, { type: 'place' })).id;
    agentId = (await createAgent(app, { name: 'proposer' })).id;
    for (let round = 0; round < ROUNDS; round += 1) {
      await createEntity(app, { type: round % 3 === 0 ? 'thing' : 'place' });
      await addClaim(app, entityId, { predicate: round % 3 === 0 ? 'p' : 'q' });
      await propose(app, agentId, { riskLevel: round % 3 === 0 ? 'high' : 'low' });
      const roles = round % 2 === 0 ? ['clerk'] : [];
      await createAgent(app, { name: `agent ${round}`, capabilities: ['read'], roles });
    }
    const { data } = await page('provenance?limit=1000');
    [first, last] = [data[9].timestamp, data[40].timestamp];
  });
  afterEach(() => {
    countAtOnce(250_000);
  });
  afterAll(async () => {
    await planner.close();
    await app.close();
  });

  function countAtOnce(sequences: number): void {
    Object.assign(app.application.get(RecordReader), { countedAtOnce: sequences });
  }

  async function page(path: string): Promise<Parsed> {
    const filled = path
      .replace('ENTITY', entityId)
      .replace('AGENT', agentId)
      .replace('FIRST', first)
      .replace('LAST', last)
      .replace('LATER', '2999-01-01T00:00:00.000Z')
      .replace('BEFORE', '1999-01-01T00:00:00.000Z');
    const { status, body } = await send(app, 'GET', `/api/v1/${filled}`);
    expect(status).toBe(200);
    return body;
  }

  function withLimit(path: string, limit: number): string {
    return `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`;
  }

  it.each(UNCOUNTED)('is right for %s', async (path) => {
    const { data } = await page(withLimit(path, 1000));
    if (!EMPTY.includes(path)) expect(data).not.toEqual([]);
    countAtOnce(CHUNK);
    expect((await page(withLimit(path, 1))).total).toBe(data.length);
    const whole = await page(withLimit(path, 1000));
    expect(whole.total).toBe(data.length);
    expect(whole.data).toEqual(data);
  });

  it('is counted once for all pages by cursor', async () => {
    countAtOnce(CHUNK);
    const { total, nextCursor } = await page('audit?entityId=ENTITY&limit=1');
    expect(await listStatements(app, () => page(`audit?limit=1&cursor=${nextCursor}`))).toHaveLength(1);
    expect((await page(`audit?limit=1&cursor=${nextCursor}`)).total).toBe(total);
  });

  it('is that at the time of its page, although entries are added during the count', async () => {
    countAtOnce(CHUNK);
    const total = Number((await page('audit?entityId=ENTITY&outcome=success')).total);
    const { lists } = app.application.get(Database);
    const all = lists.all.bind(lists);
    let chunks = 0;
    const spy = jest.spyOn(lists, 'all').mockImplementation(async (sql, parameters = []) => {
      if (chunks++ === 2) await addClaim(app, entityId, { predicate: 'p' });
      return all(sql, parameters);
    });
    expect((await page('audit?entityId=ENTITY&outcome=success')).total).toBe(total);
    spy.mockRestore();
    expect(chunks).toBeGreaterThan(ROUNDS / 2);
    expect((await page('audit?entityId=ENTITY&outcome=success')).total).toBe(total + 1);
  });

  it('is counted with the page where an index finds few rows', async () => {
    countAtOnce(CHUNK);
    const { id } = await createEntity(app);
    const path = `audit?entityId=${id}`;
    // One of its entries created it.
    for (let entries = 1; entries < MOST_AT_ONCE; entries += 1) await addClaim(app, id, { predicate: 'p' });
    expect(await listStatements(app, () => page(path))).toHaveLength(1);
    expect((await page(path)).total).toBe(MOST_AT_ONCE);
    await addClaim(app, id, { predicate: 'p' });
    const { length } = await listStatements(app, () => page(path));
    expect(length).toBeGreaterThan(MOST_AT_ONCE / CHUNK);
    expect((await page(path)).total).toBe(MOST_AT_ONCE + 1);
  });

  itOnSqlite('is looked up between the bounds of each chunk, or by the most selective filter', async () => {
    countAtOnce(2);
    let seen = 0;
    for (const { path, query } of LIST_CASES) {
      const [, ...chunks] = await listStatements(app, () => page(`${path}?limit=1&${query}`));
      for (const [sql, parameters] of chunks.filter(([sql]) => sql.includes('count(*)')).slice(0, 1)) {
        seen += 1;
        const plan = await planner.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
        const isBounded = plan.some(({ detail }) => /equence>\? AND \w*equence<\?|rowid>\? AND rowid<\?/.test(detail));
        const details = plan.map(({ detail }) => detail);
        expect({ path, query, details, isBounded }).toEqual({ path, query, details, isBounded: true });
      }
    }
    // The others have counters, or are empty here.
    expect(seen).toBeGreaterThan(LIST_CASES.length / 3);
  });
});
