import { Database } from '../../src/ledger/database/database';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { send } from '../support/application/send';

const CONTENT = { text: 'x'.repeat(250_000) };
/** Decisions, of which about four fit in a chunk. */
const ROWS = 20;
const LISTS = [
  ['entities', 'entities?type=large'],
  ['claims', 'entities/ENTITY/claims?order=asc'],
  ['decisions', 'decisions?order=asc'],
  ['executions', 'executions?order=asc'],
  ['ledger_entries', 'audit?order=desc'],
] as const;

describe('Of rows that are too large for a page', () => {
  let app: TestApp;
  let entityId: string;
  let agentId: string;
  /** The rows of each statement that lists a table, as text. */
  let statements: string[];

  beforeAll(async () => {
    app = await createTestApp();
    entityId = (await createEntity(app)).id;
    ({ id: agentId } = await createAgent(app, { name: 'agent', capabilities: ['act'] }));
    await createAgent(app, { name: 'ann', kind: 'human' });
    await createPolicy(app);
    const body = { action: 'act', resourceType: 'thing', resourceId: 'a', parameters: CONTENT };
    await createEntity(app, { type: 'large', properties: CONTENT });
    await addClaim(app, entityId, { context: CONTENT });
    for (let row = 0; row < ROWS; row += 1) await propose(app, agentId, { context: CONTENT });
    await send(app, 'POST', `/api/v1/agents/${agentId}/execute`, { body });
  });
  afterAll(() => app.close());
  afterEach(() => jest.restoreAllMocks());

  function record(table: string): void {
    const { lists } = app.application.get(Database);
    const all = lists.all.bind(lists);
    statements = [];
    jest.spyOn(lists, 'all').mockImplementation(async (sql, parameters) => {
      const rows = await all(sql, parameters);
      const [{ texts = null, lists: packed = null } = {}] = rows;
      if (sql.includes(`FROM "${table}"`) && sql.includes('listedBytes')) statements.push(String(texts ?? packed));
      return rows;
    });
  }

  it.each(LISTS)('%s, only place and size are read first', async (table, path) => {
    record(table);
    const { status, body } = await send(app, 'GET', `/api/v1/${path.replace('ENTITY', entityId)}&limit=1000`);
    expect([status, body.data.length > 0]).toEqual([200, true]);
    const [first = '', second = ''] = statements;
    const { id } = body.data[0];
    expect([first.includes(id), second.includes(id)]).toEqual([false, true]);
  });

  it('decisions, a search reads the sizes of few at once after the first of them', async () => {
    record('decisions');
    const { body } = await send(app, 'GET', '/api/v1/decisions?awaiting=ann&limit=1');
    expect(body.total).toBe(ROWS);
    const [first = '[]', , ...others] = statements;
    expect([JSON.parse(first).length, first.includes('proposed')]).toEqual([ROWS, false]);
    expect(Math.max(...others.map((rows) => JSON.parse(rows).length))).toBeLessThanOrEqual(9);
  });
});
