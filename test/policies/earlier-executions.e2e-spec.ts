import { Database } from '../../src/ledger/database/database';
import type { SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { nodesOf, planIn } from '../support/database/postgres-plan';

const LOOK_UP_CONDITION = { earlier: 'look-up', resource: 'same', op: 'exists', value: true };

describe('Conditions on the run', () => {
  let app: TestApp;
  let runs = 0;
  let run = '';

  beforeAll(async () => {
    app = await createTestApp();
    for (const name of ['bot', 'other'])
      await createAgent(app, { name, capabilities: ['look-up', 'refund', 'web.*', 'send', 'pay', 'close'] });
    await createPolicy(app, { name: 'look', actions: ['look-up', 'web.*'] });
    await createPolicy(app, { name: 'refunds', actions: ['refund'], conditions: [LOOK_UP_CONDITION] });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    const fromOutside = { earlier: 'web.*', op: 'exists', value: true };
    const rules = { name: 'nothing leaves', actions: ['send'], effect: 'deny', conditions: [fromOutside] };
    await createPolicy(app, rules);
    const approval = { riskLevel: 'low', approvers: [{ subjects: ['*'] }] };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    await createPolicy(app, {
      ...{ name: 'never twice', actions: ['pay'], effect: 'deny' },
      conditions: [{ earlier: 'pay', resource: 'same', op: 'exists', value: true }],
    });
    await createPolicy(app, {
      ...{ name: 'once', actions: ['close'] },
      conditions: [{ earlier: 'close', op: 'exists', value: false }],
    });
    await createAgent(app, { name: 'ann', kind: 'human' });
  });
  beforeEach(() => {
    runs += 1;
    run = `run-${runs}`;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const requestBody = (action: string, resourceId: string, more: object = {}): object => {
    return { action, resourceType: 'order', resourceId, run, ...more };
  };
  const execute = (action: string, resourceId: string, more: object = {}, headers = {}): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: requestBody(action, resourceId, more), headers });
  const evaluate = async (body: object): Promise<Parsed> =>
    (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { agent: 'bot', ...body } })).body;
  /** Returns the effect, which must be the same for evaluate and execute. */
  const effect = async (action: string, resourceId: string, more: object = {}): Promise<string> => {
    const { effect: verdict } = await evaluate(requestBody(action, resourceId, more));
    const { status, body } = await execute(action, resourceId, more);
    expect({ verdict, status, reason: body.error?.reason }).toMatchObject({
      status: { allow: 200, deny: 403 }[String(verdict)],
    });
    return verdict;
  };

  it('refund only after look-up', async () => {
    expect(await effect('refund', 'o/1')).toBe('deny');
    expect(await effect('look-up', 'o/1')).toBe('allow');
    expect(await effect('refund', 'o/2')).toBe('deny');
    expect(await effect('refund', '/o/1')).toBe('allow');
    expect(await effect('refund', 'o/1', { resourceType: 'invoice' })).toBe('deny');
    expect(await effect('refund', 'o/1', { run: `${run}-b` })).toBe('deny');
    // Without a run, no earlier execution is known.
    expect(await effect('refund', 'o/1', { run: null })).toBe('deny');
    const other = await send(app, 'POST', '/api/v1/agents/other/execute', { body: requestBody('refund', 'o/1') });
    expect(other.body.error.reason).toBe('no_policy_allows');
  });

  it('compare resources in normal form C, sent in any form', async () => {
    expect(await effect('look-up', 'cafe\u0301/\u212a')).toBe('allow');
    expect(await effect('refund', 'caf\u00e9/K')).toBe('allow');
  });

  it('deny: nothing leaves after reading from outside, and nothing without a run', async () => {
    expect(await effect('send', 'mail')).toBe('allow');
    expect(await effect('web.get', 'page')).toBe('allow');
    expect(await effect('send', 'mail')).toBe('deny');
    // Leaving the run out does not evade the rule.
    expect(await effect('send', 'mail', { run: null })).toBe('deny');
  });

  it('do not count what was not authorised, and see what the same batch has written', async () => {
    expect((await execute('refund', 'o/9')).status).toBe(403);
    const answers = await Promise.all(Array.from({ length: 8 }, () => execute('close', 'o/9')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('are evaluated at a resume, and a replay is not earlier than itself', async () => {
    const headers = { 'Idempotency-Key': run };
    const once = await execute('close', 'a', {}, headers);
    expect(await execute('close', 'a', {}, headers)).toMatchObject({ status: 200, body: { id: once.body.id } });
    const ids: string[] = [];
    for (const parameters of [{ n: 1 }, { n: 2 }]) {
      const { body } = await execute('pay', 'a', { parameters });
      await send(app, 'POST', `/api/v1/decisions/${body.decisionId}/approve`, { body: { approverId: 'ann' } });
      ids.push(body.id);
    }
    const resume = (id = ''): Promise<Answer> =>
      send(app, 'POST', `/api/v1/executions/${id}/resume`, { headers: { 'Idempotency-Key': `${run}-${id}` } });
    expect((await resume(ids[0])).status).toBe(200);
    expect((await resume(ids[0])).status).toBe(200);
    expect((await resume(ids[1])).body.error.reason).toBe('policy_denied');
  });

  it('are read as of one of several executions of the same millisecond', async () => {
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    const first = (await execute('look-up', 'o/6')).body;
    await execute('look-up', 'o/7');
    clock.mockRestore();
    const { data } = (await send(app, 'GET', `/api/v1/provenance?subjectId=${first.id}`)).body;
    const asOf: number = data[0].sequence;
    expect((await evaluate(requestBody('refund', 'o/6', { asOf }))).effect).toBe('allow');
    expect((await evaluate(requestBody('refund', 'o/7', { asOf }))).effect).toBe('deny');
    expect((await evaluate(requestBody('refund', 'o/7', { asOf: asOf + 1 }))).effect).toBe('allow');
  });

  it('name what was found in the details, and are read as it was', async () => {
    const sequenceOf = async (id: string): Promise<number> =>
      (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data.at(-1).sequence;
    const lookUp = (await execute('look-up', 'o/5')).body;
    const { body: refund } = await execute('refund', 'o/5');
    const { data } = (await send(app, 'GET', `/api/v1/provenance?subjectId=${refund.id}`)).body;
    const entry = (await send(app, 'GET', `/api/v1/provenance/${data[0].sequence}`)).body;
    const policyId = refund.policies[0].id;
    expect(entry.audit.details.earlier).toEqual([{ policyId, condition: 0, executionId: lookUp.id }]);
    const at = await sequenceOf(lookUp.id);
    expect((await evaluate(requestBody('refund', 'o/5', { asOf: at }))).effect).toBe('allow');
    expect((await evaluate(requestBody('refund', 'o/5', { asOf: at - 1 }))).effect).toBe('deny');
    // What came first is replayed as it came: refunds that followed a look-up on the same order, and look-ups.
    const planned = {
      name: 'refunds',
      version: '2',
      effect: 'allow',
      subjects: ['*'],
      actions: ['refund'],
      resources: ['*'],
    };
    const conditions = [{ earlier: 'look-up', op: 'exists', value: true }];
    const body = { policies: [{ ...planned, conditions }], replay: {} };
    const { replay } = (await send(app, 'POST', '/api/v1/policies/plan', { body })).body;
    const changes = replay.examples.map(({ was, now }: Parsed) => `${was} ${now}`);
    expect(new Set(changes)).toEqual(new Set(['deny allow']));
    expect(changes).toHaveLength(2);
  });

  it('can be evaluated in a list, and have the best outcome in an open question', async () => {
    await execute('look-up', 'a');
    const requests = ['a', 'b'].map((resourceId) => ({ resourceId }));
    const { results } = await evaluate({ ...requestBody('refund', 'x'), resourceId: undefined, requests });
    expect(results.map(({ effect: verdict }: Parsed) => verdict)).toEqual(['allow', 'deny']);
    const resource = { type: 'order', id: 'a' };
    const authzen = async (context: object): Promise<Answer> =>
      send(app, 'POST', '/access/v1/evaluation', {
        body: { subject: { type: 'agent', id: 'bot' }, action: { name: 'refund' }, resource, context },
      });
    expect((await authzen({ run })).body.decision).toBe(true);
    expect((await authzen({})).body.decision).toBe(false);
    const open = await evaluate({ ...requestBody('refund', 'x'), resourceId: undefined, requests, open: true });
    expect(open.results.map(({ effect: verdict }: Parsed) => verdict)).toEqual(['allow', 'allow']);
  });

  it.each<[fault: string, condition: object]>([
    ['earlier', { earlier: 'a*b' }],
    ['resource', { resource: 'other' }],
    ['op', { op: 'eq' }],
    ['value', { value: 'yes' }],
    ['parameter', { parameter: '/a' }],
    ['days', { days: ['mon'] }],
  ])('are refused at %s', async (fault, condition) => {
    const body = { name: run, version: '1', effect: 'deny', subjects: ['*'], actions: ['*'], resources: ['*'] };
    const conditions = [{ ...LOOK_UP_CONDITION, ...condition }];
    const answer = await send(app, 'POST', '/api/v1/policies', { body: { ...body, conditions } });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([`conditions[0].${fault}`]);
  });
});

describe('Looking for an earlier execution', () => {
  it('uses an index of executions in runs, as far as the request goes', async () => {
    const app = await createTestApp();
    const { points } = app.application.get(Database);
    const statements: [sql: string, parameters: readonly SqlValue[]][] = [];
    const all = points.all.bind(points);
    const spy = jest.spyOn(points, 'all').mockImplementation((sql, parameters = []) => {
      if (sql.includes('"resourceKey"') && sql.includes('CASE')) statements.push([sql, parameters]);
      return all(sql, parameters);
    });
    await createAgent(app, { name: 'bot', capabilities: ['refund'] });
    await createPolicy(app, { conditions: [LOOK_UP_CONDITION] });
    const question = { agent: 'bot', action: 'refund', resourceType: 'order', resourceId: 'o', run: 'r' };
    for (const asOf of [undefined, 2])
      await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...question, asOf } });
    spy.mockRestore();
    expect(statements).toHaveLength(2);
    for (const [sql, parameters] of statements) expect(await tablesScanned(app, sql, parameters)).toEqual([]);
    await app.close();
  });

  async function tablesScanned(app: TestApp, sql: string, parameters: readonly SqlValue[]): Promise<string[]> {
    const { points } = app.application.get(Database);
    if (onPostgres) {
      const nodes = nodesOf(await planIn(points, sql, parameters));
      return nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? String(node['Relation Name']) : []));
    }
    const planner = await foreignConnection(app);
    const steps = await planner.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, parameters);
    await planner.close();
    const searches = steps.flatMap(
      ({ detail }) => /^SEARCH executions USING INDEX \w+ \((.*)\)$/.exec(detail)?.[1] ?? [],
    );
    const reach = 'action>? AND action<?';
    expect(searches).toEqual([
      `run=? AND agentId=? AND ${reach}`,
      `run=? AND agentId=? AND resourceKey=? AND ${reach}`,
    ]);
    return steps.flatMap(({ detail }) =>
      /^SCAN (?!item)/.test(detail) && !detail.includes('CONSTANT ROW') ? detail : [],
    );
  }
});
