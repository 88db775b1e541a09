import { Database } from '../../../src/ledger/database/database';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import {
  addClaim,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../../support/application/factories';
import { foreignConnection } from '../../support/database/foreign-connection';
import { lookForDueDecisions } from '../../support/database/due-decisions';
import { LIST_CASES } from '../../support/requests/list-cases';
import { listStatements } from '../../support/database/list-statements';
import { nodesOf, type PlanNode, planIn } from '../../support/database/postgres-plan';
import { send } from '../../support/application/send';

/** Rows in every table: enough for the planner to prefer a look-up to a scan. */
const ROWS = 20_000;

/** Copies the only row of each table with different values. `n` in steps of 1,000 makes twenty rows of each value. */
const COPIES: Readonly<Record<string, string>> = {
  entities: `'id', 'ent_' || n, 'createdSequence', 1000 + n, 'type', 'type-' || n % 1000`,
  claims: `'id', 'clm_' || n, 'createdSequence', 1000 + n, 'entityId', 'ent_' || n, 'predicate', 'predicate-' || n % 1000, 'predicateKey', 'predicate-' || n % 1000`,
  agents: `'id', 'agt_' || n, 'createdSequence', 1000 + n, 'name', 'agent-' || n`,
  ledger_list_items: `'item', 'agents:roles:role-' || n % 1000, 'createdSequence', 1000 + n, 'recordId', 'agt_' || n`,
  executions: `'id', 'exe_' || n, 'createdSequence', 1000 + n, 'agentId', 'agt_' || n % 1000, 'action', 'action-' || n % 1000`,
  decisions: `'id', 'dec_' || n, 'createdSequence', 1000 + n, 'type', 'type-' || n % 1000, 'proposedBy', 'agt_' || n % 1000, 'expiresAt', '2099-01-01T00:00:00.000Z'`,
  policies: `'id', 'pol_' || n, 'createdSequence', 1000 + n, 'name', 'policy-' || n, 'status', 'superseded'`,
  api_keys: `'id', 'key_' || n, 'createdSequence', 1000 + n, 'agentId', 'agt_' || n % 1000, 'status', 'revoked'`,
  grants: `'id', 'grt_' || n, 'createdSequence', 1000 + n, 'agentId', 'agt_' || n % 1000, 'decisionId', 'dec_' || n, 'status', 'expired'`,
  stops: `'id', 'stp_' || n, 'createdSequence', 1000 + n, 'status', 'lifted'`,
  ledger_entries:
    `'sequence', 1000 + n, 'id', 'prv_' || n, 'auditId', 'aud_' || n, 'entityId', 'ent_' || n % 5000, ` +
    `'agentId', 'agt_' || n % 1000, 'subjectId', 'ent_' || n % 5000, 'action', 'action-' || n % 1000, 'actorId', 'key_' || n % 1000`,
};

/** Has an action of the bot approved for an hour. */
async function grant(app: TestApp): Promise<void> {
  const approval = { approvers: [{ subjects: ['agent:ann'] }], grant: { for: 'PT1H' } };
  await createAgent(app, { name: 'ann', kind: 'human' });
  await createPolicy(app, { name: 'asked', effect: 'require_approval', actions: ['ask'], priority: 1, approval });
  const request = { action: 'ask', resourceType: 'document', resourceId: 'a' };
  const { body } = await send(app, 'POST', '/api/v1/agents/bot/execute', { body: request });
  const review = { approverId: 'ann', grant: { for: 'PT1H' } };
  await send(app, 'POST', `/api/v1/decisions/${body.decisionId}/approve`, { body: review });
}

describe('The plan on PostgreSQL of', () => {
  let app: TestApp;
  let entityId: string;
  let planner: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    planner = await foreignConnection(app);
    entityId = (await createEntity(app)).id;
    await addClaim(app, entityId);
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['read', 'ask'], roles: ['reader'] });
    await propose(app, id);
    await createPolicy(app);
    await issueKey(app, { agentId: id });
    const execution = { action: 'read', resourceType: 'document', resourceId: 'a' };
    await send(app, 'POST', '/api/v1/agents/bot/execute', { body: execution });
    await grant(app);
    await send(app, 'POST', '/api/v1/stops', { body: { actions: ['nothing'], reason: 'To have one' } });
    for (const [table, members] of Object.entries(COPIES)) {
      const copy = `jsonb_populate_record(NULL::"${table}", to_jsonb(one) || jsonb_build_object(${members}))`;
      const only = `(SELECT * FROM "${table}" LIMIT 1) AS one`;
      await planner.run(`INSERT INTO "${table}" SELECT (${copy}).* FROM ${only}, generate_series(1, ${ROWS}) AS n`);
    }
    await planner.run('VACUUM ANALYZE');
    // The server writes many rows, and may be busy.
  }, 900_000);
  afterAll(async () => {
    await planner.close();
    await app.close();
  });

  /** The plan of the statement that a request runs. */
  async function planOf(path: string): Promise<PlanNode> {
    const statements = await listStatements(app, async () => {
      const answer = await send(app, 'GET', `/api/v1/${path.replace('ENTITY', entityId)}`);
      expect(answer.body).toMatchObject({ total: expect.any(Number) });
    });
    const [[sql, parameters] = ['', []], ...others] = statements;
    expect(others).toEqual([]);
    return planIn(planner, sql, parameters);
  }

  it.each(LIST_CASES)('$path by $names reads no table from end to end', async ({ path, query }) => {
    for (const order of ['asc', 'desc']) {
      const nodes = nodesOf(await planOf(`${path}?order=${order}&limit=2&${query}`));
      expect(nodes.filter(isScan)).toEqual([]);
      expect(nodes.some((node) => node['Index Name'] !== undefined)).toBe(true);
    }
  });

  it.each(['force_custom_plan', 'force_generic_plan'])(
    'the search for decisions that are due uses an index of those that can expire, with %s',
    async (mode) => {
      const [sql, values] = await lookForDueDecisions(app);
      const { points } = app.application.get(Database);
      const session = await foreignConnection(app);
      const settings = await points.all<{ name: string; setting: string }>(
        `SELECT "name", "setting" FROM pg_settings WHERE "name" LIKE 'enable_%' AND "setting" = 'off'`,
      );
      for (const { name, setting } of settings) await session.run(`SET ${name} = ${setting}`);
      await session.run(`SET plan_cache_mode = ${mode}`);
      await session.run(`PREPARE due(text, text, text, bigint) AS ${sql}`);
      const called = values.map((value) => `'${String(value)}'`).join(', ');
      const [row] = await session.all<ExplainedRun>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE due(${called})`);
      await session.close();
      const plan = row?.['QUERY PLAN'][0].Plan;
      const [index] = plan === undefined ? [] : nodesOf(plan).flatMap((node) => node['Index Name'] ?? []);
      const [made] = await planner.all<{ indexdef: string }>(
        'SELECT "indexdef" FROM pg_indexes WHERE "indexname" = $1',
        [index ?? ''],
      );
      expect(made?.indexdef).toMatch(/WHERE .*"resolvedAt" IS NULL.*"expiresAt" IS NOT NULL/);
      expect(plan?.['Shared Hit Blocks']).toBeLessThan(10);
    },
  );

  it('a table without a suitable index is read from end to end, which this test would notice', async () => {
    const plan = await planIn(planner, `SELECT * FROM "entities" WHERE "properties" = 'x'`);
    expect(nodesOf(plan).filter(isScan)).toHaveLength(1);
  });
});

interface ExplainedRun {
  readonly 'QUERY PLAN': [{ Plan: PlanNode & { readonly 'Shared Hit Blocks': number } }];
}

/** The tables of counters and of the head are short, however large the others are. */
function isScan(node: PlanNode): boolean {
  const table = node['Relation Name'];
  return node['Node Type'].includes('Seq Scan') && table !== 'ledger_head' && table !== 'ledger_counters';
}
