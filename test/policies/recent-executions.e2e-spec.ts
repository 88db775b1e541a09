import { Database } from '../../src/ledger/database/database';
import { ResumedExecutions1766800000000 } from '../../src/governance/executions/resumed-executions.migration';
import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { nodesOf, planIn } from '../support/database/postgres-plan';
import { temporaryDatabase } from '../support/database/temporary-database';

const HOUR = 3_600_000;
const RECENT = { earlier: 'fetch-*', within: 'PT4H', op: 'exists', value: true };

describe('Conditions on what an agent did within a time', () => {
  let app: TestApp;
  let agents = 0;
  let agent = '';

  beforeAll(async () => {
    app = await createTestApp();
    await createPolicy(app, { name: 'all', actions: ['fetch-*', 'send', 'look-up', 'pay'] });
    await createPolicy(app, { name: 'nothing leaves', actions: ['send'], effect: 'deny', conditions: [RECENT] });
    const lookedUp = { earlier: 'look-up', within: 'P7D', resource: 'same', op: 'exists', value: true };
    await createPolicy(app, { name: 'refunds', actions: ['refund'], conditions: [lookedUp] });
    const approval = { riskLevel: 'low', approvers: [{ subjects: ['*'] }], decideWithin: 'P2D', executeWithin: 'P2D' };
    const rules = { actions: ['fetch-secret'], effect: 'require_approval', approval };
    await createPolicy(app, { name: 'secrets', ...rules });
    await createAgent(app, { name: 'ann', kind: 'human' });
  });
  beforeEach(async () => {
    agents += 1;
    agent = `bot-${agents}`;
    await createAgent(app, { name: agent, capabilities: ['*'] });
  });
  afterEach(async () => {
    await restoreTime();
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const requestBody = (action: string, resourceId: string, more: object = {}): object => {
    return { action, resourceType: 'order', resourceId, ...more };
  };
  const execute = (action: string, resourceId = 'o', more: object = {}): Promise<Answer> =>
    send(app, 'POST', `/api/v1/agents/${agent}/execute`, { body: requestBody(action, resourceId, more) });
  const evaluate = async (action: string, resourceId = 'o', more: object = {}): Promise<string> =>
    (
      await send(app, 'POST', '/api/v1/policies/evaluate', {
        body: { agent, ...requestBody(action, resourceId, more) },
      })
    ).body.effect;
  const effect = async (action: string, resourceId = 'o', more: object = {}): Promise<string> => {
    const verdict = await evaluate(action, resourceId, more);
    expect((await execute(action, resourceId, more)).status).toBe(verdict === 'allow' ? 200 : 403);
    return verdict;
  };

  it.each<[inWhich: string, fetching: object, sending: object]>([
    ['another run', { run: 'a' }, { run: 'b' }],
    ['no run', { run: 'a' }, {}],
    ['a run, after none', {}, { run: 'a' }],
    ['none at all', {}, {}],
  ])('deny in %s', async (_inWhich, fetching, sending) => {
    expect(await effect('send', 'o', sending)).toBe('allow');
    expect((await execute('fetch-page', 'p', fetching)).status).toBe(200);
    expect(await effect('send', 'o', sending)).toBe('deny');
  });

  it('look at the same resource, in any form', async () => {
    expect(await effect('refund', 'caf\u00e9')).toBe('deny');
    await execute('look-up', '/cafe\u0301');
    expect(await effect('refund', 'caf\u00e9')).toBe('allow');
    expect(await effect('refund', 'other')).toBe('deny');
    expect(await effect('refund', 'caf\u00e9', { resourceType: 'invoice' })).toBe('deny');
  });

  it('see what the same batch has written', async () => {
    const once = { earlier: agent, within: 'PT1H', op: 'exists', value: false };
    await createPolicy(app, { name: `once ${agent}`, actions: [agent], conditions: [once] });
    const answers = await Promise.all(Array.from({ length: 8 }, () => execute(agent)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('count an approved action from its resume, and name it in the entry', async () => {
    const { body: secret } = await execute('fetch-secret');
    await send(app, 'POST', `/api/v1/decisions/${secret.decisionId}/approve`, { body: { approverId: 'ann' } });
    expect(await effect('send')).toBe('allow');
    await send(app, 'POST', `/api/v1/executions/${secret.id}/resume`);
    expect(await effect('send')).toBe('deny');
    const { data } = (await send(app, 'GET', `/api/v1/executions?outcome=denied&agentId=${secret.agentId}`)).body;
    const { sequence } = (await send(app, 'GET', `/api/v1/provenance?subjectId=${data[0].id}`)).body.data[0];
    const entry = (await send(app, 'GET', `/api/v1/provenance/${sequence}`)).body;
    expect(entry.audit.details.earlier).toEqual([expect.objectContaining({ condition: 0, executionId: secret.id })]);
    const resumed = (await send(app, 'GET', `/api/v1/provenance?subjectId=${secret.id}`)).body.data;
    const asOf = resumed.find(({ action }: Parsed) => action === 'execution.resumed').sequence;
    expect(await evaluate('send', 'o', { asOf: asOf - 1 })).toBe('allow');
    expect(await evaluate('send', 'o', { asOf })).toBe('deny');
  });

  it.each<[fault: string, condition: object]>([
    ['within', { within: 'P8D' }],
    ['within', { within: 'today' }],
    ['within', { within: 4 }],
    ['run', { run: 'r' }],
    ['resource', { resource: 'other' }],
  ])('are refused at %s', async (fault, condition) => {
    const body = { name: agent, version: '1', effect: 'deny', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const answer = await send(app, 'POST', '/api/v1/policies', {
      body: { ...body, conditions: [{ ...RECENT, ...condition }] },
    });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([`conditions[0].${fault}`]);
  });

  it('are hashed and answered without what was not given', async () => {
    const conditions = [
      { ...RECENT, resource: null },
      { ...RECENT, within: null },
    ];
    const { body } = await send(app, 'POST', '/api/v1/policies', {
      body: {
        name: agent,
        version: '1',
        effect: 'deny',
        subjects: ['*'],
        actions: [agent],
        resources: ['*'],
        conditions,
      },
    });
    const { within: _within, ...inRun } = RECENT;
    expect(body.conditions).toEqual([RECENT, inRun]);
  });

  it('refuse to compare a pattern with more actions than can be looked up at once', async () => {
    const { points } = app.application.get(Database);
    const all = points.all.bind(points);
    jest.spyOn(points, 'all').mockImplementation((sql, parameters = []) =>
      all(
        sql,
        parameters.map((value) => (typeof value === 'string' ? value.replace(',1000', ',2') : value)),
      ),
    );
    const asOf: number = (await send(app, 'GET', '/api/v1/provenance?order=desc&limit=1')).body.data[0].sequence;
    for (const name of ['fetch-a', 'fetch-b', 'fetch-c']) await execute(name);
    const question = { ...requestBody('send', 'o'), agent };
    expect(await send(app, 'POST', '/api/v1/policies/evaluate', { body: question })).toMatchObject({
      status: 200,
      body: { effect: 'deny' },
    });
    // Nothing yet, at that time.
    expect(await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } })).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('longer pattern') } },
    });
  });

  it('end with the time, and are read as they were', async () => {
    const fetched = (await execute('fetch-page')).body;
    const { body: secret } = await execute('fetch-secret');
    await send(app, 'POST', `/api/v1/decisions/${secret.decisionId}/approve`, { body: { approverId: 'ann' } });
    await moveTime(4 * HOUR - 60_000);
    expect(await effect('send')).toBe('deny');
    await moveTime(4 * HOUR + 60_000);
    expect(await effect('send')).toBe('allow');
    // Created long before, authorised now.
    await moveTime(9 * HOUR);
    expect((await send(app, 'POST', `/api/v1/executions/${secret.id}/resume`)).status).toBe(200);
    expect(await effect('send')).toBe('deny');
    const { data } = (await send(app, 'GET', `/api/v1/provenance?subjectId=${fetched.id}`)).body;
    expect(await evaluate('send', 'o', { asOf: data[0].sequence - 1 })).toBe('allow');
    expect(await evaluate('send', 'o', { asOf: data[0].sequence })).toBe('deny');
    await moveTime(14 * HOUR);
    expect(await effect('send')).toBe('allow');
  });

  it('find a resume by an exact action and by a pattern, on the same resource and on any, until its time is over', async () => {
    const searches = {
      exact: { earlier: 'fetch-secret' },
      pattern: {},
      'exact-same': { earlier: 'fetch-secret', resource: 'same' },
      'pattern-same': { resource: 'same' },
    };
    const names = Object.keys(searches);
    await createPolicy(app, { name: 'probes', actions: names.map((name) => `probe-${name}`) });
    for (const [name, search] of Object.entries(searches)) {
      const rules = { effect: 'deny', actions: [`probe-${name}`], conditions: [{ ...RECENT, ...search }] };
      await createPolicy(app, { name: `probe ${name}`, ...rules });
    }
    const denied = async (resourceId: string, more: object = {}): Promise<string[]> => {
      const effects = await Promise.all(names.map((name) => evaluate(`probe-${name}`, resourceId, more)));
      return names.filter((_, index) => effects[index] === 'deny');
    };
    await moveTime(20 * HOUR);
    await execute('fetch-page', 'mine');
    const [mine, other] = [(await execute('fetch-secret', 'mine')).body, (await execute('fetch-secret', 'other')).body];
    for (const { decisionId } of [mine, other])
      await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: 'ann' } });
    await send(app, 'POST', `/api/v1/executions/${other.id}/resume`);
    await moveTime(25 * HOUR);
    expect([await denied('mine'), await denied('other')]).toEqual([[], []]);
    expect((await send(app, 'POST', `/api/v1/executions/${mine.id}/resume`)).status).toBe(200);
    expect([await denied('mine'), await denied('other')]).toEqual([names, ['exact', 'pattern']]);
    const entries = (await send(app, 'GET', `/api/v1/provenance?subjectId=${mine.id}`)).body.data;
    const asOf: number = entries.find(({ action }: Parsed) => action === 'execution.resumed').sequence;
    await moveTime(30 * HOUR);
    expect([await denied('mine'), await denied('other')]).toEqual([[], []]);
    expect(await denied('mine', { asOf: asOf - 1 })).toEqual(['exact', 'pattern', 'pattern-same']);
    expect(await denied('mine', { asOf })).toEqual(names);
    expect(await denied('other', { asOf })).toEqual(['exact', 'pattern']);
  });
});

describe('A database from before executions had the sequence of their resume', () => {
  it('gets it for each that was resumed, and for no other', async () => {
    const database = await temporaryDatabase();
    let app = await createTestApp({ environment: database.environment });
    await createAgent(app, { name: 'ann', kind: 'human' });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const approval = { riskLevel: 'low', approvers: [{ subjects: ['*'] }] };
    await createPolicy(app, { actions: ['fetch'], effect: 'require_approval', approval });
    await createPolicy(app, { actions: ['*'] });
    const body = { action: 'fetch', resourceType: 'order', resourceId: 'o' };
    const ids: string[] = [];
    for (const action of ['fetch', 'look-up', 'fetch']) {
      const { id, decisionId } = (
        await send(app, 'POST', '/api/v1/agents/bot/execute', {
          body: { ...body, action, resourceId: `o${ids.length}` },
        })
      ).body;
      if (decisionId !== null)
        await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: 'ann' } });
      ids.push(id);
    }
    const resume = await send(app, 'POST', `/api/v1/executions/${ids[0]}/resume`);
    expect(resume.status).toBe(200);
    const sequences = async (): Promise<unknown> => {
      const foreign = await foreignConnection(app);
      const rows = await foreign.all('SELECT "id", "resumedSequence" FROM "executions" ORDER BY "createdSequence"');
      await foreign.close();
      return rows;
    };
    const before = await sequences();
    expect(before).toEqual(ids.map((id, index) => ({ id, resumedSequence: index === 0 ? expect.any(Number) : null })));
    const foreign = await foreignConnection(app);
    for (const name of await resumeIndexes(foreign)) await foreign.run(`DROP INDEX "${name}"`);
    await foreign.run('ALTER TABLE "executions" DROP COLUMN "resumedSequence"');
    await foreign.run(`DELETE FROM "migrations" WHERE "name" = '${ResumedExecutions1766800000000.name}'`);
    await foreign.close();
    await app.close();
    app = await createTestApp({ environment: database.environment });
    expect(await sequences()).toEqual(before);
    await chainIsValid(app);
    await app.close();
    await database.remove();
  });
});

/** Returns the names of the indexes with the sequence of the resume. */
async function resumeIndexes(connection: Pick<SqlConnection, 'all'>): Promise<string[]> {
  const sql = onPostgres
    ? `SELECT indexname AS "name" FROM pg_indexes WHERE indexdef LIKE '%"resumedSequence")%'`
    : `SELECT "name" FROM sqlite_master WHERE "type" = 'index' AND "sql" LIKE '%"resumedSequence")%'`;
  return (await connection.all<{ name: string }>(sql)).map(({ name }) => name);
}

describe('Looking for what was done within a time', () => {
  it('compares at most 2,000 actions for a question, of which each pattern gets its share', async () => {
    const app = await createTestApp();
    const { points } = app.application.get(Database);
    const keys: unknown[][] = [];
    const all = points.all.bind(points);
    const spy = jest.spyOn(points, 'all').mockImplementation((sql, parameters = []) => {
      if (sql.includes('RECURSIVE')) keys.push(...(JSON.parse(String(parameters[0])) as unknown[][]));
      return all(sql, parameters);
    });
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const conditions = [1, 2, 3, 4, 5].map((hours) => ({ ...RECENT, within: `PT${hours}H` }));
    const exact = { ...RECENT, earlier: 'fetch-page' };
    await createPolicy(app, { actions: ['send'], conditions: [...conditions, exact] });
    await createPolicy(app, { actions: ['pay'], conditions: [RECENT] });
    for (const action of ['send', 'pay']) {
      const body = { agent: 'bot', action, resourceType: 'order', resourceId: 'o' };
      expect((await send(app, 'POST', '/api/v1/policies/evaluate', { body })).status).toBe(200);
    }
    spy.mockRestore();
    expect(keys.map((key) => key.at(-1))).toEqual([400, 400, 400, 400, 400, 1_000, 1_000]);
    await app.close();
  });

  it('uses indexes', async () => {
    const app = await createTestApp();
    const { points } = app.application.get(Database);
    const statements: [sql: string, parameters: readonly SqlValue[]][] = [];
    const all = points.all.bind(points);
    const spy = jest.spyOn(points, 'all').mockImplementation((sql, parameters = []) => {
      if (sql.includes('RECURSIVE')) statements.push([sql, parameters]);
      return all(sql, parameters);
    });
    await createAgent(app, { name: 'bot', capabilities: ['send'] });
    await createPolicy(app, { conditions: [RECENT, { ...RECENT, resource: 'same' }] });
    const question = { agent: 'bot', action: 'send', resourceType: 'order', resourceId: 'o' };
    for (const asOf of [undefined, 2])
      await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } });
    spy.mockRestore();
    expect(statements).toHaveLength(2);
    for (const [index, [sql, parameters]] of statements.entries())
      expect(await scansIn(app, sql, parameters, index === 1)).toEqual([]);
    await app.close();
  });

  async function scansIn(
    app: TestApp,
    sql: string,
    parameters: readonly SqlValue[],
    isPast: boolean,
  ): Promise<string[]> {
    if (onPostgres) {
      const { points } = app.application.get(Database);
      const nodes = nodesOf(await planIn(points, sql, parameters, { isRun: true }));
      const resumeNames = await resumeIndexes(points);
      const used = nodes.flatMap((node) => node['Index Name'] ?? []).filter((name) => resumeNames.includes(name));
      // The newest resume of each action, on any resource and on the same one.
      expect(used).toHaveLength(2);
      return nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? String(node['Relation Name']) : []));
    }
    const planner = await foreignConnection(app);
    const steps = await planner.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    await planner.close();
    const searches = steps.filter(({ detail }) => detail.startsWith('SEARCH executions'));
    const used = searches.map(
      ({ detail }) => /^SEARCH executions USING (?:COVERING )?INDEX \w+ \((.*)\)$/.exec(detail)?.[1],
    );
    const [next, upTo] = ['action>? AND action<?', isPast ? ' AND resumedSequence<?' : ''];
    const newest = ['action=? AND createdSequence>?', `action=? AND resumedSequence>?${upTo}`];
    // The first action, the next ones, and the newest execution and resume of each.
    const ofEach = (beginning: string): string[] => [next, next, ...newest].map((end) => `${beginning} AND ${end}`);
    expect(used).toEqual([...ofEach('agentId=?'), ...ofEach('agentId=? AND resourceKey=?')]);
    // No row is read where only the type of an id is meant.
    const ofNoRow = 'SCAN executions USING COVERING INDEX sqlite_autoindex_executions_1';
    return steps.flatMap(({ detail }) =>
      /^SCAN (?!item|names)/.test(detail) && detail !== ofNoRow && !detail.includes('CONSTANT ROW') ? detail : [],
    );
  }
});
