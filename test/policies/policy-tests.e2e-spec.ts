import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';

const READ = { action: 'read', resourceType: 'doc', resourceId: 'a' };
const ANYBODY = { subject: {} };
const MAY_READ = {
  ...{ name: 'may-read', version: '1', effect: 'allow' },
  ...{ subjects: ['role:reader'], actions: ['read'], resources: ['*'] },
};
const LIMIT = {
  ...{ name: 'limit', version: '1', effect: 'deny', priority: 5 },
  ...{ subjects: ['*'], actions: ['pay'], resources: ['*'] },
  conditions: [{ parameter: '/amount', op: 'gt', value: 10 }],
};
const ASK = { ...MAY_READ, name: 'ask', effect: 'require_approval', actions: ['pay'] };

describe('Tests of a planned set', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp();
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const plan = (policies: readonly object[], tests: unknown, more: object = {}): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/plan', { body: { policies, tests }, ...more });
  const tested = async (policies: readonly object[], tests: readonly object[]): Promise<Parsed> => {
    const answer = await plan(policies, tests);
    expect(answer.status).toBe(200);
    return answer.body.tests;
  };

  it('query the set as it would be, and nothing is applied', async () => {
    const reader = { subject: { roles: ['reader'] } };
    const pay = { ...reader, action: 'pay', resourceType: 'doc', resourceId: 'a' };
    const results = await tested(
      [MAY_READ, LIMIT, ASK],
      [
        { ...READ, ...reader, expect: 'allow', by: 'may-read' },
        { ...READ, ...ANYBODY, expect: 'deny' },
        { ...pay, parameters: { amount: 11 }, expect: 'deny', by: 'limit' },
        { ...pay, parameters: { amount: 9 }, expect: 'require_approval', by: 'ask' },
        { ...pay, expect: 'deny', by: 'limit' },
      ],
    );
    expect(results).toEqual({ passed: 5, failed: [] });
    const { body } = await send(app, 'POST', '/api/v1/policies/evaluate', { body: { ...READ, ...reader } });
    expect(body).toMatchObject({ effect: 'deny', reason: 'no_policy_allows' });
    expect((await send(app, 'GET', '/api/v1/policies')).body.data).toEqual([]);
  });

  it('say what was done before, and what was used', async () => {
    const rules = { version: '1', effect: 'allow', subjects: ['role:reader'], resources: ['*'] };
    const policies = [
      {
        ...{ ...rules, name: 'refund', actions: ['refund'] },
        conditions: [{ earlier: 'look-*', resource: 'same', op: 'exists', value: true }],
      },
      {
        ...{ ...rules, name: 'leaves', effect: 'deny', subjects: ['*'], actions: ['send'], priority: 1 },
        conditions: [{ earlier: 'fetch', within: 'PT4H', op: 'exists', value: true }],
      },
      { ...rules, name: 'send', actions: ['send'] },
      {
        ...{ ...rules, name: 'spend', actions: ['pay'] },
        limits: [
          { max: 100, of: '/amount', per: 'day', zone: 'Europe/Berlin', by: 'agent' },
          { max: 2, per: 'hour', by: 'request' },
        ],
      },
    ];
    const [refund, mail, pay] = ['refund', 'send', 'pay'].map((action) => ({
      ...{ subject: { roles: ['reader'] }, action, resourceType: 'order', resourceId: 'orders/7' },
    }));
    const paid = { ...pay, parameters: { amount: 30 } };
    const results = await tested(policies, [
      { ...refund, run: 'a', earlier: [{ action: 'look-up' }], expect: 'allow', by: 'refund' },
      { ...refund, run: 'a', earlier: [{ action: 'look-up', resourceId: '/orders/7' }], expect: 'allow' },
      { ...refund, run: 'a', earlier: [{ action: 'look-up', resourceId: 'orders/8' }], expect: 'deny' },
      { ...refund, run: 'a', earlier: [{ action: 'look-up', resourceType: 'doc' }], expect: 'deny' },
      { ...refund, run: 'a', earlier: [{ action: 'see' }, { action: 'look-up' }], expect: 'allow' },
      { ...refund, run: 'a', earlier: [], expect: 'deny' },
      // Without a run, or without earlier actions, nothing is known.
      { ...refund, earlier: [{ action: 'look-up' }], expect: 'deny' },
      { ...refund, run: 'a', expect: 'deny' },
      { ...mail, earlier: [], expect: 'allow', by: 'send' },
      { ...mail, earlier: [{ action: 'fetch', resourceType: 'page', resourceId: 'p' }], expect: 'deny', by: 'leaves' },
      { ...mail, run: null, earlier: null, used: null, expect: 'deny', by: 'leaves' },
      { ...paid, used: [{ policy: 'spend', limit: 0, amount: 70 }], expect: 'allow', by: 'spend' },
      { ...paid, used: [{ policy: 'spend', limit: 0, amount: 70.01 }], expect: 'deny' },
      {
        ...{ ...paid, expect: 'deny' },
        used: [40, 30.5].map((amount) => ({ policy: 'spend', limit: 0, amount })),
      },
      { ...paid, used: [{ policy: 'spend', limit: 1, amount: 1 }], expect: 'allow' },
      { ...paid, used: [{ policy: 'spend', limit: 1, amount: 2 }], expect: 'deny' },
    ]);
    expect(results).toEqual({ passed: 16, failed: [] });
  });

  it.each([
    [{ used: [{ policy: 'nobody', limit: 0, amount: 1 }] }, 'tests[0].used[0].policy'],
    [{ used: [{ policy: 'may-read', limit: 0, amount: 1 }] }, 'tests[0].used[0].limit'],
    [{ used: [{ policy: 'may-read', limit: 5, amount: 1 }] }, 'tests[0].used[0].limit'],
    [{ used: [{ policy: 'may-read', limit: 0, amount: -1 }] }, 'tests[0].used[0].amount'],
    [{ used: [{ policy: 'may-read', limit: 0, amount: '1' }] }, 'tests[0].used[0].amount'],
    [{ earlier: [{ resourceType: 'doc' }] }, 'tests[0].earlier[0].action'],
    [{ earlier: [{ action: 'a', resourceId: 'a/../b' }] }, 'tests[0].earlier[0].resourceId'],
    [{ earlier: { action: 'a' } }, 'tests[0].earlier'],
    [{ run: 5 }, 'tests[0].run'],
  ])('are refused with %j', async (more, field) => {
    const answer = await plan([MAY_READ], [{ ...READ, ...ANYBODY, expect: 'deny', ...more }]);
    expect([answer.status, Object.keys(faults(answer))]).toEqual([400, [field]]);
  });

  it('that fail show the answer, and which policies decided', async () => {
    const { id } = await createPolicy(app, MAY_READ);
    const reader = { ...READ, subject: { roles: ['reader'] } };
    const results = await tested(
      [MAY_READ, { ...LIMIT, actions: ['*'] }],
      [
        { ...READ, ...ANYBODY, expect: 'deny' },
        { ...reader, parameters: { amount: 1 }, expect: 'deny' },
        { ...reader, parameters: { amount: 1 }, expect: 'allow', by: 'limit' },
        { ...reader, expect: 'allow' },
        { ...READ, ...ANYBODY, parameters: { amount: 1 }, expect: 'allow', by: 'nobody' },
      ],
    );
    const mayRead = { id, name: 'may-read', version: '1', effect: 'allow' };
    const limit = { id: null, name: 'limit', version: '1', effect: 'deny' };
    expect(results).toEqual({
      passed: 1,
      failed: [
        { index: 1, expect: 'deny', effect: 'allow', reason: null, policies: [mayRead] },
        { index: 2, expect: 'allow', effect: 'allow', reason: null, policies: [mayRead] },
        { index: 3, expect: 'allow', effect: 'deny', reason: 'policy_denied', policies: [limit] },
        {
          ...{ index: 4, expect: 'allow', effect: 'deny', reason: 'no_policy_allows', policies: [] },
          nearest: [{ policy: mayRead, missing: ['subject'] }],
        },
      ],
    });
  });

  it('that expect more name the policies that lack one part for it', async () => {
    const payment = { ...MAY_READ, name: 'pay', actions: ['pay'], resources: ['docs/*'], resourceTypes: ['doc'] };
    const small = { ...payment, conditions: [{ parameter: '/amount', op: 'lte', value: 10 }] };
    const payTest = { ...{ action: 'pay', resourceType: 'doc', resourceId: 'docs/1' }, subject: { roles: ['reader'] } };
    const amount = { parameters: { amount: 5 } };
    const results = await tested(
      [small],
      [
        { ...payTest, ...amount, subject: {}, expect: 'allow' },
        { ...payTest, ...amount, action: 'spend', expect: 'allow' },
        { ...payTest, ...amount, resourceId: 'files/1', expect: 'allow' },
        { ...payTest, ...amount, resourceType: 'file', expect: 'allow' },
        { ...payTest, parameters: { amount: 11 }, expect: 'allow' },
        { ...payTest, expect: 'require_approval' },
        { ...payTest, resourceId: 'files/1', expect: 'allow' },
        { ...payTest, ...amount, expect: 'deny' },
      ],
    );
    const policy = { id: null, name: 'pay', version: '1', effect: 'allow' };
    expect(results.failed.map(({ nearest }: Parsed) => nearest)).toEqual([
      ...['subject', 'action', 'resource', 'resourceType', 'conditions', 'conditions'].map((part) => [
        { policy, missing: [part] },
      ]),
      ...[undefined, undefined],
    ]);
  });

  it('consider policies that stay in force, and not those that would be deactivated', async () => {
    await createPolicy(app, MAY_READ);
    const tests = [{ ...READ, subject: { roles: ['reader'] }, expect: 'allow' }];
    expect((await plan([LIMIT], tests)).body.tests.passed).toBe(1);
    const pruned = await send(app, 'POST', '/api/v1/policies/plan', {
      body: { policies: [LIMIT], prune: true, tests },
    });
    expect(pruned.body.tests.passed).toBe(0);
    const next = { ...MAY_READ, version: '2', actions: ['write'] };
    expect((await plan([next], tests)).body.tests.passed).toBe(0);
  });

  it('evaluate a registered agent with its capabilities and status', async () => {
    const bot = await createAgent(app, { name: 'bot', roles: ['reader'], capabilities: ['read'] });
    const readTest = { ...READ, agent: 'bot', expect: 'allow', by: 'may-read' };
    const everything = { ...MAY_READ, actions: ['*'] };
    expect(await tested([everything], [readTest, { ...readTest, agent: bot.id, action: 'write' }])).toEqual({
      passed: 1,
      failed: [{ index: 1, expect: 'allow', effect: 'deny', reason: 'capability_missing', policies: [] }],
    });
    await send(app, 'POST', `/api/v1/agents/${bot.id}/suspend`);
    expect((await tested([everything], [readTest])).failed[0].reason).toBe('agent_suspended');
  });

  it('recognise a policy that decides together with more than ten others', async () => {
    const many = Array.from({ length: 12 }, (_, index) => ({ ...MAY_READ, name: `n${index}` }));
    const reader = { ...READ, subject: { roles: ['reader'] }, expect: 'allow' };
    const results = await tested(
      [...many, { ...MAY_READ, name: 'lower', priority: -1 }],
      [
        { ...reader, by: 'n11' },
        { ...reader, by: 'lower' },
      ],
    );
    expect(results.passed).toBe(1);
    expect(results.failed).toMatchObject([{ index: 1, effect: 'allow' }]);
    expect(results.failed[0].policies).toHaveLength(10);
  });

  it('are validated, each by itself', async () => {
    const valid = { ...READ, ...ANYBODY, expect: 'deny' };
    const answer = await plan(
      [MAY_READ],
      [
        ...[valid, { ...READ, expect: 'deny' }, { ...valid, agent: 'bot' }, { ...valid, expect: 'no_policy' }, 7],
        ...[
          { ...valid, resourceId: 'a/../b' },
          { ...valid, explain: true },
          { ...valid, by: '', parameters: [] },
        ],
        ...[{ ...valid, subject: { roles: 'all', name: 'agt_x' } }, {}],
      ],
    );
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer)).sort()).toEqual([
      ...['tests[1].agent', 'tests[2].subject', 'tests[3].expect', 'tests[4]', 'tests[5].resourceId'],
      ...['tests[6].explain', 'tests[7].by', 'tests[7].parameters', 'tests[8].subject.name', 'tests[8].subject.roles'],
      ...['tests[9].action', 'tests[9].agent', 'tests[9].expect', 'tests[9].resourceId', 'tests[9].resourceType'],
    ]);
    const unknown = await plan([MAY_READ], [valid, { ...READ, agent: 'nobody', expect: 'deny' }]);
    expect([unknown.status, Object.keys(faults(unknown))]).toEqual([400, ['tests[1].agent']]);
    const tooMany = await plan(
      [],
      Array.from({ length: 1001 }, () => valid),
    );
    expect(Object.keys(faults(tooMany))).toEqual(['tests']);
    expect((await plan([MAY_READ], null)).body).not.toHaveProperty('tests');
    expect((await plan([MAY_READ], [])).body.tests).toEqual({ passed: 0, failed: [] });
  });

  it('may only be about its own agent for a bound caller without `read`', async () => {
    const bot = await createAgent(app, { name: 'bot' });
    const { secret: key } = await issueKey(app, { scopes: ['policies'], agentId: bot.id });
    const own = { ...READ, agent: 'bot', expect: 'deny' };
    expect((await plan([MAY_READ], [own], { key })).status).toBe(200);
    const refused = await plan([MAY_READ], [own, { ...READ, ...ANYBODY, expect: 'deny' }], { key });
    expect([refused.status, refused.body.error.reason]).toEqual([403, 'not_this_agent']);
    // Before what exists is looked at.
    await createPolicy(app, MAY_READ);
    const changed = await plan([{ ...MAY_READ, effect: 'deny' }], [{ ...READ, ...ANYBODY, expect: 'deny' }], { key });
    expect([changed.status, changed.body.error.reason]).toEqual([403, 'not_this_agent']);
  });

  it('may ask at a time, for conditions on the clock', async () => {
    const conditions = [{ clock: 'Europe/Berlin', days: ['fri'], op: 'between', value: ['08:00', '18:00'] }];
    const policy = {
      name: 'fridays',
      version: '1',
      effect: 'allow',
      subjects: ['*'],
      actions: ['go'],
      resources: ['*'],
    };
    const test = { subject: {}, action: 'go', resourceType: 'place', resourceId: 'home' };
    const tests = [
      { ...test, at: '2026-11-20T09:00:00Z', expect: 'allow', by: 'fridays' },
      { ...test, at: '2026-11-20T18:00:00+01:00', expect: 'deny' },
      { ...test, at: '2026-11-21T09:00:00Z', expect: 'deny' },
    ];
    expect(await tested([{ ...policy, conditions }], tests)).toEqual({ passed: 3, failed: [] });
    const wrong = await plan([policy], [{ ...test, at: 'noon', expect: 'deny' }]);
    expect([wrong.status, Object.keys(faults(wrong))]).toEqual([400, ['tests[0].at']]);
  });

  it('begin with nothing used of a limit, also for an agent that is not registered yet', async () => {
    const limits = [{ max: 100, of: '/amount', per: 'day', by: 'agent' }];
    const policy = { name: 'limited', version: '1', effect: 'allow', subjects: ['role:new'], resources: ['*'] };
    const test = { subject: { roles: ['new'] }, action: 'pay', resourceType: 'invoice', resourceId: 'i' };
    const tests = [
      { ...test, parameters: { amount: 100 }, expect: 'allow' },
      { ...test, parameters: { amount: 101 }, expect: 'deny' },
      { ...test, parameters: { amount: -5 }, expect: 'deny' },
      { ...test, subject: { roles: ['old'] }, parameters: { amount: 5 }, expect: 'deny' },
    ];
    expect(await tested([{ ...policy, actions: ['pay'], limits }], tests)).toEqual({ passed: 4, failed: [] });
  });
});
