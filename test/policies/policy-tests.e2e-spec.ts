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
    const asked = { ...{ action: 'pay', resourceType: 'doc', resourceId: 'docs/1' }, subject: { roles: ['reader'] } };
    const amount = { parameters: { amount: 5 } };
    const results = await tested(
      [small],
      [
        { ...asked, ...amount, subject: {}, expect: 'allow' },
        { ...asked, ...amount, action: 'spend', expect: 'allow' },
        { ...asked, ...amount, resourceId: 'files/1', expect: 'allow' },
        { ...asked, ...amount, resourceType: 'file', expect: 'allow' },
        { ...asked, parameters: { amount: 11 }, expect: 'allow' },
        { ...asked, expect: 'require_approval' },
        { ...asked, resourceId: 'files/1', expect: 'allow' },
        { ...asked, ...amount, expect: 'deny' },
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
    const asked = { ...READ, agent: 'bot', expect: 'allow', by: 'may-read' };
    const everything = { ...MAY_READ, actions: ['*'] };
    expect(await tested([everything], [asked, { ...asked, agent: bot.id, action: 'write' }])).toEqual({
      passed: 1,
      failed: [{ index: 1, expect: 'allow', effect: 'deny', reason: 'capability_missing', policies: [] }],
    });
    await send(app, 'POST', `/api/v1/agents/${bot.id}/suspend`);
    expect((await tested([everything], [asked])).failed[0].reason).toBe('agent_suspended');
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
