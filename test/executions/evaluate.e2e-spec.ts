import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

const DOCUMENT = { resourceType: 'document', resourceId: 'a/b' };
const READ = { action: 'read', ...DOCUMENT };

describe('POST /policies/evaluate', () => {
  let app: TestApp;
  let bot: string;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    bot = (await createAgent(app, { name: 'bot', capabilities: ['read', 'pay', 'burn', 'vote'], roles: ['ops'] })).id;
    await createAgent(app, { name: 'other', capabilities: ['read'] });
    await createPolicy(app, { name: 'reads', actions: ['read'], subjects: ['role:ops'] });
    await createPolicy(app, { name: 'burns', actions: ['burn'], effect: 'deny', priority: 5 });
    const conditions = [{ parameter: '/amount', op: 'lt', value: 10 }];
    await createPolicy(app, { name: 'spends', actions: ['spend'], conditions });
    const approval = { approvers: [{ subjects: ['role:finance'], approvals: 2 }], riskLevel: 'high' };
    await createPolicy(app, { name: 'pays', actions: ['pay'], effect: 'require_approval', approval });
    const eighty = Array.from({ length: 8 }, (_, at) => ({ subjects: [`role:${at}`], approvals: 10 }));
    for (const version of [0, 1, 2]) {
      const approvers = eighty.map(({ subjects: [role], approvals }) => ({
        subjects: [`${role} ${version}`],
        approvals,
      }));
      await createPolicy(app, { actions: ['vote'], effect: 'require_approval', approval: { approvers } });
    }
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function evaluate(body: object, options: { key?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
    return send(app, 'POST', '/api/v1/policies/evaluate', { body, ...options });
  }

  async function entries(): Promise<number> {
    return (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
  }

  it('answers according to agent, capabilities and policies, and writes nothing', async () => {
    const before = await entries();
    const resultOf = async (body: object): Promise<unknown[]> => {
      const { body: answer } = await evaluate({ agent: 'bot', ...READ, ...body });
      return [answer.effect, answer.reason, answer.policies.map(({ name }: { name: string }) => name)];
    };
    expect(await resultOf({})).toEqual(['allow', null, ['reads']]);
    expect(await resultOf({ agent: bot })).toEqual(['allow', null, ['reads']]);
    expect(await resultOf({ agent: 'other' })).toEqual(['deny', 'no_policy_allows', []]);
    expect(await resultOf({ action: 'burn' })).toEqual(['deny', 'policy_denied', ['burns']]);
    expect(await resultOf({ action: 'fly' })).toEqual(['deny', 'capability_missing', []]);
    expect((await resultOf({ action: 'vote' })).slice(0, 2)).toEqual(['deny', 'approval_too_large']);
    expect((await resultOf({ action: 'vote' }))[2]).toHaveLength(3);
    const { body } = await evaluate({ agent: 'bot', ...READ, action: 'pay' });
    expect(body).toEqual({
      effect: 'require_approval',
      reason: 'approval_required',
      policies: [expect.objectContaining({ name: 'pays', effect: 'require_approval' })],
      approval: {
        riskLevel: 'high',
        approvers: [{ subjects: ['role:finance'], approvals: 2 }],
        decideWithin: 'P1D',
        executeWithin: 'PT1H',
      },
      policySet: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await evaluate({ agent: 'bot', ...READ })).body.approval).toBeNull();
    expect(await entries()).toBe(before);
  });

  it('answers for a suspended agent, and explains as if it could act', async () => {
    const { id } = await createAgent(app, { name: 'idle', capabilities: ['read'], roles: ['ops'] });
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
    const { body } = await evaluate({ agent: 'idle', ...READ, explain: true });
    expect(body).toMatchObject({ effect: 'deny', reason: 'agent_suspended', policies: [] });
    expect(body.explanation).toMatchObject({ matched: [{ policy: { name: 'reads' }, decided: true }], nearest: [] });
    const lacking = (await evaluate({ agent: 'bot', ...READ, action: 'fly', explain: true })).body;
    expect(lacking).toMatchObject({ reason: 'capability_missing', explanation: { nearest: [] } });
  });

  it('answers for an unregistered subject, whose capabilities are not checked', async () => {
    const everybody = await createPolicy(app, { actions: ['greet'], subjects: ['agent:*'] });
    await createPolicy(app, { actions: ['sign'], subjects: ['agent:cafe\u0301', 'kind:human'] });
    const effectFor = async (subject: object, action: string): Promise<string> =>
      (await evaluate({ subject, ...READ, action })).body.effect;
    expect(await effectFor({}, 'greet')).toBe('allow');
    expect(await effectFor({ roles: ['ops'] }, 'read')).toBe('allow');
    expect(await effectFor({ roles: ['dev'] }, 'read')).toBe('deny');
    expect(await effectFor({ name: 'caf\u00e9' }, 'sign')).toBe('allow');
    expect(await effectFor({ name: 'cafe' }, 'sign')).toBe('deny');
    expect(await effectFor({ kind: 'human' }, 'sign')).toBe('allow');
    expect(await effectFor({ kind: null, name: null, roles: null }, 'sign')).toBe('deny');
    await send(app, 'POST', `/api/v1/policies/${everybody.id}/deactivate`);
    expect(await effectFor({}, 'greet')).toBe('deny');
  });

  it('evaluates parameters as execute does', async () => {
    const effectFor = async (parameters?: object): Promise<string> =>
      (await evaluate({ subject: {}, ...READ, action: 'spend', parameters })).body.effect;
    expect([await effectFor({ amount: 9 }), await effectFor({ amount: 10 }), await effectFor()]).toEqual([
      'allow',
      'deny',
      'deny',
    ]);
  });

  it('explains which policies matched, which decided, why others did not, and what would have helped', async () => {
    const explained = async (body: object): Promise<Answer['body']> =>
      (await evaluate({ subject: { name: 'x', roles: ['red'] }, ...DOCUMENT, explain: true, ...body })).body
        .explanation;
    const policy = (name: string, body: object): Promise<unknown> =>
      createPolicy(app, { name, actions: ['paint'], ...body });
    await policy('weak', { priority: -1 });
    await policy('stopped', { subjects: ['role:red'] });
    await policy('stops', { effect: 'deny' });
    const policyNames = (list: { policy: { name: string } }[]): string[] => list.map((each) => each.policy.name);
    const first = await explained({ action: 'paint' });
    expect(first.matched).toMatchObject([
      { policy: { name: 'stops', version: '1.0', effect: 'deny' }, decided: true, lostTo: null },
      { policy: { name: 'stopped' }, decided: false, lostTo: 'effect' },
      { policy: { name: 'weak' }, decided: false, lostTo: 'priority' },
    ]);
    expect(first.nearest).toEqual([]);
    expect(first.inForce).toBe((await send(app, 'GET', '/api/v1/policies?status=active')).body.total);

    await policy('for blue', { subjects: ['role:blue'], priority: 2 });
    await policy('for walls', { resourceTypes: ['wall'], priority: 1 });
    await policy('behind the type', { resources: ['document/a/*'], priority: 3 });
    await policy('elsewhere', { resources: ['c/*'], priority: 1, effect: 'require_approval' });
    await policy('other act', { actions: ['draw'], priority: 2 });
    await policy('lacks two', { actions: ['draw'], subjects: ['role:blue'], priority: 9 });
    await policy('if dry', { conditions: [{ parameter: '/dry', op: 'eq', value: true }], priority: 1 });
    const { nearest } = await explained({ action: 'paint' });
    expect(
      nearest.map(({ missing, policy: { name } }: { missing: string[]; policy: { name: string } }) => [name, missing]),
    ).toEqual([
      ['behind the type', ['resourceType']],
      ['for blue', ['subject']],
      ['other act', ['action']],
      ['for walls', ['resourceType']],
      ['elsewhere', ['resource']],
      ['if dry', ['conditions']],
    ]);
    const allowed = await explained({ action: 'paint', parameters: { dry: true } });
    expect([policyNames(allowed.matched).slice(0, 2), allowed.nearest]).toEqual([['if dry', 'stops'], []]);
    expect((await evaluate({ agent: 'bot', ...READ, explain: false })).body).not.toHaveProperty('explanation');
  });

  it('says the best effect that any parameters could have', async () => {
    const conditions = [{ parameter: '/amount', op: 'gt', value: 5 }];
    await createPolicy(app, { actions: ['tip'] });
    await createPolicy(app, { actions: ['tip'], effect: 'deny', priority: 1, conditions });
    const bestFor = async (body: object): Promise<string> =>
      (await evaluate({ ...DOCUMENT, action: 'tip', explain: true, ...body })).body.explanation.bestEffect;
    expect(await bestFor({ subject: {}, parameters: { amount: 9 } })).toBe('allow');
    expect(await bestFor({ subject: {}, action: 'tap' })).toBe('deny');
    await createAgent(app, { name: 'never tips', capabilities: [] });
    expect(await bestFor({ agent: 'never tips' })).toBe('deny');
    const open = { subject: {}, open: true, ...DOCUMENT };
    const requests = [
      { action: 'tip', parameters: { amount: 9 } },
      { action: 'tap' },
      { action: 'tip', agent: 'never tips' },
    ];
    const { status, body } = await evaluate({ ...open, requests });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { effect: 'allow', reason: null, policies: [], approval: null },
      { effect: 'deny', reason: 'no_policy_allows' },
      { effect: 'deny', reason: 'capability_missing' },
    ]);
    expect((await evaluate({ ...open, action: 'tip' })).body.error.details).toEqual([
      { field: 'open', message: 'goes with requests only' },
    ]);
    expect((await evaluate({ ...open, requests, explain: true })).body.error.details).toEqual([
      { field: 'open', message: 'must be left out: explain is given' },
    ]);
    await createPolicy(app, { actions: ['tip'], effect: 'deny', priority: 1 });
    expect(await bestFor({ subject: {} })).toBe('deny');
  });

  it('shows ten policies that decided, a hundred that matched and twenty that are near', async () => {
    for (let count = 0; count < 110; count += 1) await createPolicy(app, { actions: ['crowd'] });
    for (let count = 0; count < 25; count += 1)
      await createPolicy(app, { actions: ['lonely'], subjects: ['role:none'] });
    const { body } = await evaluate({
      requests: [{ action: 'crowd' }, { action: 'lonely' }],
      explain: true,
      subject: {},
      ...DOCUMENT,
    });
    const [crowd, lonely] = body.results;
    expect(crowd.policies).toHaveLength(10);
    expect(crowd.explanation.matched).toHaveLength(100);
    expect(crowd.explanation.matched.filter(({ decided }: { decided: boolean }) => decided)).toHaveLength(100);
    expect(lonely.explanation.nearest).toHaveLength(20);
  });

  it('answers a list by one set of policies, with the members next to the list as defaults', async () => {
    const { status, body } = await evaluate({
      agent: 'bot',
      ...READ,
      parameters: { a: 1 },
      requests: [
        {},
        { action: 'burn', agent: null },
        { agent: 'other' },
        { subject: { roles: ['ops'] }, resourceType: 'wall', resourceId: 'c' },
        { parameters: { amount: 1 }, action: 'spend', subject: {} },
      ],
    });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['policySet', 'results']);
    expect(body.results.map(({ effect, reason }: { effect: string; reason: string }) => [effect, reason])).toEqual([
      ['allow', null],
      ['deny', 'policy_denied'],
      ['deny', 'no_policy_allows'],
      ['allow', null],
      ['allow', null],
    ]);
    expect(Object.keys(body.results[0]).sort()).toEqual(['approval', 'effect', 'policies', 'reason']);
    const replaced = await evaluate({ ...READ, subject: {}, requests: [{ agent: 'bot' }, {}] });
    expect(replaced.body.results.map(({ effect }: { effect: string }) => effect)).toEqual(['allow', 'deny']);
    const parameters = { amount: 1 };
    const whole = await evaluate({
      subject: {},
      ...READ,
      action: 'spend',
      parameters,
      requests: [{ parameters: {} }, {}],
    });
    expect(whole.body.results.map(({ effect }: { effect: string }) => effect)).toEqual(['deny', 'allow']);
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['action', 'agent', 'resourceId', 'resourceType']],
    ['agent and subject', { agent: 'bot', subject: {}, ...READ }, ['subject']],
    ['an unknown agent', { agent: 'nobody', ...READ }, ['agent']],
    ['the name of an id', { subject: { name: 'agt_1' }, ...READ }, ['subject.name']],
    ['an unknown kind', { subject: { kind: 'cat', rank: 1 }, ...READ }, ['subject.kind', 'subject.rank']],
    [
      'roles that nobody has',
      { subject: { roles: ['a', ' b', 'a'] }, ...READ },
      ['subject.roles[1]', 'subject.roles[2]'],
    ],
    ['no resource', { agent: 'bot', ...READ, resourceId: 'a//b' }, ['resourceId']],
    ['parameters that are a list', { agent: 'bot', ...READ, parameters: [] }, ['parameters']],
    ['members that nobody knows', { agent: 'bot', ...READ, who: 1, asof: 1 }, ['asof', 'who']],
    ['no requests', { agent: 'bot', ...READ, requests: [] }, ['requests']],
    ['too many', { agent: 'bot', ...READ, requests: Array(1_001).fill({}) }, ['requests']],
    ['too many to explain', { agent: 'bot', ...READ, explain: true, requests: Array(51).fill({}) }, ['requests']],
    [
      'faults inside',
      {
        agent: 'bot',
        action: 'read',
        requests: [{ ...DOCUMENT, explain: true }, 1, { subject: { name: '' }, agent: 'bot' }],
      },
      [
        ...['requests[0].explain', 'requests[1]', 'requests[2].resourceId', 'requests[2].resourceType'],
        ...['requests[2].subject', 'requests[2].subject.name'],
      ],
    ],
    ['unknown agents inside', { ...READ, requests: [{ agent: 'bot' }, { agent: 'agt_x' }] }, ['requests[1].agent']],
    ['an unknown agent for all', { ...READ, agent: 'x', requests: [{}, {}] }, ['agent']],
  ])('refuses %s', async (_what, body, expected) => {
    const answer = await evaluate(body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(Object.keys(faults(answer)).sort()).toEqual(expected);
  });

  it('accepts 1,000 at once, and other requests are answered meanwhile', async () => {
    const [{ body, status }, live] = await Promise.all([
      evaluate({ agent: 'bot', ...READ, requests: Array(1_000).fill({}) }),
      send(app, 'GET', '/api/v1/health/live'),
    ]);
    expect([status, live.status]).toEqual([200, 200]);
    expect(new Set(body.results.map(({ effect }: { effect: string }) => effect))).toEqual(new Set(['allow']));
  });

  it('finds more agents than one statement reads, small and large, by id and by name, as it finds each alone', async () => {
    const many = Array.from({ length: 60 }, (_, at) => `${at}-${'x'.repeat(90)}`);
    const agents = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        createAgent(app, {
          name: `one of many ${at}`,
          capabilities: [...(at % 2 === 0 ? ['read'] : []), ...(at % 7 === 0 ? many : [])],
          roles: at % 4 === 0 ? ['ops'] : [],
        }),
      ),
    );
    const effects = ['allow', 'deny', 'deny', 'deny'];
    const reasons = [null, 'capability_missing', 'no_policy_allows', 'capability_missing'];
    const references = [...agents.map(({ id }) => id), ...agents.map(({ name }) => name)];
    const { body } = await evaluate({ ...READ, requests: references.map((agent) => ({ agent })) });
    const expected = references.map((_, at) => [effects[at % 4], reasons[at % 4]]);
    expect(body.results.map(({ effect, reason }: { effect: string; reason: string }) => [effect, reason])).toEqual(
      expected,
    );
  });

  it('lets a bound caller without `read` ask only about its own agent', async () => {
    const keyFor = async (scopes: string[], agentId?: string): Promise<string> =>
      (await issueKey(app, { scopes, ...(agentId !== undefined && { agentId }) })).secret;
    const [bound, reader, unbound] = [
      await keyFor(['execute'], bot),
      await keyFor(['read'], bot),
      await keyFor(['execute']),
    ];
    const outcome = async (key: string, body: object): Promise<unknown> => {
      const answer = await evaluate(body, { key });
      return answer.status === 200 ? 200 : answer.body.error.reason;
    };
    const own = { agent: 'bot', ...READ };
    for (const key of [bound, reader, unbound]) expect(await outcome(key, own)).toBe(200);
    expect(await outcome(bound, { agent: bot, ...READ })).toBe(200);
    for (const others of [
      { agent: 'other', ...READ },
      { agent: 'nobody', ...READ },
      { subject: {}, ...READ },
      { ...own, requests: [{}, { agent: 'other' }] },
      { ...own, requests: [{}, { subject: { name: 'bot' } }] },
    ]) {
      expect(await outcome(bound, others)).toBe('not_this_agent');
    }
    expect(await outcome(reader, { agent: 'other', ...READ })).toBe(200);
    expect(await outcome(unbound, { subject: {}, ...READ })).toBe(200);
    expect(await outcome(await keyFor(['audit']), own)).toBe('scope_missing');
  });

  it('validates an Idempotency-Key, and otherwise ignores it', async () => {
    const headers = { 'Idempotency-Key': 'a-key' };
    const key = { headers };
    const first = await evaluate({ agent: 'bot', ...READ }, key);
    const other = await evaluate({ agent: 'bot', ...READ, action: 'burn' }, key);
    expect([first.body.effect, other.status, other.body.effect]).toEqual(['allow', 200, 'deny']);
    expect(other.headers.has('idempotent-replayed')).toBe(false);
    const bad = await evaluate({ agent: 'bot', ...READ }, { headers: { 'Idempotency-Key': 'with spaces' } });
    expect(faults(bad)).toHaveProperty(['header.Idempotency-Key']);
  });
});
