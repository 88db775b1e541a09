import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { describeOnSqlite } from '../support/database/database-kind';
import { createAgent, createEntity, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { lookForDueDecisions } from '../support/database/due-decisions';
import { LIST_CASES } from '../support/requests/list-cases';
import { listStatements } from '../support/database/list-statements';
import { send } from '../support/application/send';

/** A filter by one of these leaves few rows, so it must be the one that is looked up. */
const SELECTIVE = ['subjectId', 'entityId'];

interface Step {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

describeOnSqlite('The plan of', () => {
  let app: TestApp;
  let entityId: string;
  let planner: SqlConnection;
  const read = (path: string): ReturnType<typeof send> =>
    send(app, 'GET', `/api/v1/${path.replace('ENTITY', entityId)}`);

  beforeAll(async () => {
    app = await createTestApp();
    planner = await foreignConnection(app);
    entityId = (await createEntity(app)).id;
    const { id } = await createAgent(app, { name: 'proposer' });
    await propose(app, id);
  });
  afterAll(async () => {
    await planner.close();
    await app.close();
  });

  /** The steps of SQLite's plan for the statement that a request runs. */
  async function planOf(path: string): Promise<Step[]> {
    const statements = await listStatements(app, async () => {
      expect((await read(path)).body).toMatchObject({ total: expect.any(Number) });
    });
    // The service looks for executions that no gateway reports, whenever it does.
    const requested = statements.filter(([statement]) => !statement.includes('"via" IS NOT NULL'));
    expect(requested).toHaveLength(1);
    const [[sql, parameters] = ['', []]] = requested;
    // On the connection of the lists it would fix the snapshot that later statements see.
    return planner.all<Step>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
  }

  it.each(LIST_CASES)('$path by $names uses indexes only', async ({ path, names, query }) => {
    for (const order of ['asc', 'desc']) {
      const steps = await planOf(`${path}?order=${order}&limit=2&${query}`);
      const isFiltered = names !== 'no filter' || path.includes('claims');
      const unbounded = steps.filter((step) => isUnbounded(step, steps, isFiltered)).map(({ detail }) => detail);
      // What the agents of a team did is found by agent, and the first of it are picked out.
      const isByTeam = names.split(' and ').includes('team') && ['executions', 'decisions'].includes(path);
      expect(unbounded.filter((detail) => !(isByTeam && detail === 'USE TEMP B-TREE FOR ORDER BY'))).toEqual([]);
      const selective = SELECTIVE.find((name) => names.split(' and ').includes(name));
      if (selective === undefined) continue;
      for (const { detail } of steps.filter(({ detail }) => detail.startsWith('SEARCH ledger_entries'))) {
        expect(detail).toMatch(/\((entityId|subjectId)=\?|\(timestamp[<>]\?/);
      }
    }
  });

  it('a page by cursor looks up the place where it starts', async () => {
    await Promise.all([createEntity(app), createEntity(app)]);
    const { body } = await read('entities?limit=1');
    const steps = await planOf(`entities?limit=1&cursor=${body.nextCursor}`);
    expect(steps.map(({ detail }) => detail)).toContainEqual(
      expect.stringMatching(/^SEARCH entities .*createdSequence>\?/),
    );
  });

  it('a page is compiled once: SQLite would recompile it whenever a bare placeholder of LIMIT or OFFSET gets a value', async () => {
    const statements = await listStatements(app, () => read('entities?limit=2&offset=1'));
    expect(statements.map(([sql]) => sql)).toEqual([expect.not.stringMatching(/(LIMIT|OFFSET) \$/)]);
  });

  it('the search for decisions that are due uses an index of those that can expire', async () => {
    const [sql, parameters] = await lookForDueDecisions(app);
    const steps = await planner.all<Step>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    expect(steps.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^SEARCH decisions USING INDEX \w+ \(\(expiresAt,id\)>.* AND expiresAt<\?\)$/),
    ]);
    const index = /USING INDEX (\w+)/.exec(steps[0]?.detail ?? '')?.[1] ?? '';
    const [made] = await planner.all<{ sql: string }>('SELECT "sql" FROM "sqlite_master" WHERE "name" = $1', [index]);
    expect(made?.sql).toContain(`WHERE "resolvedAt" IS NULL AND "expiresAt" IS NOT NULL`);
  });
});

/**
 * A scan of a table that skips rows, or a sort of more than a page. Without a filter a scan in order ends with the
 * page.
 */
function isUnbounded({ parent, detail }: Step, steps: readonly Step[], isFiltered: boolean): boolean {
  if (detail.startsWith('USE TEMP B-TREE')) {
    return !steps.some((other) => other.parent === parent && other.detail.startsWith('SCAN page'));
  }
  if (!detail.startsWith('SCAN') || /^SCAN (counted|few|page|written|chunk|CONSTANT ROW)/.test(detail)) return false;
  return isFiltered || !detail.includes('USING');
}
