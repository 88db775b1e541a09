import { createHash } from 'node:crypto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';

const RULES = { effect: 'allow', subjects: ['*'], actions: ['read'], resources: ['a'] };
const ONE = { ...RULES, name: 'one', version: '1' };
const TWO = { ...RULES, name: 'two', version: '1', actions: ['write'] };

describe('A set of policies', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { MAX_POLICIES: '3', MAX_POLICY_TEXT: '2000' } });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const post = (path: string, body: object): Promise<Answer> => send(app, 'POST', `/api/v1/policies${path}`, { body });
  const plan = async (policies: readonly object[], more: object = {}): Promise<Parsed> => {
    const answer = await post('/plan', { policies, ...more });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const apply = (base: string, policies: readonly object[], more: object = {}): Promise<Answer> =>
    post('/apply', { base, policies, ...more });
  const applied = async (policies: readonly object[], more: object = {}): Promise<Parsed> => {
    const answer = await apply((await plan(policies, more)).base, policies, more);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const entries = async (): Promise<number> => (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
  const inForce = async (): Promise<Parsed[]> => (await send(app, 'GET', '/api/v1/policies?status=active')).body.data;

  it('is planned without being written, applied in one commit, and named by the ids in force', async () => {
    const planned = await plan([ONE, TWO]);
    expect(planned).toMatchObject({
      base: setOf([]),
      changes: [
        { change: 'create', name: 'one', version: '1', id: null, replaces: null, differences: [] },
        { change: 'create', name: 'two', version: '1', id: null, replaces: null, differences: [] },
      ],
      warnings: [],
    });
    expect(await entries()).toBe(0);
    const { body } = await apply(planned.base, [ONE, TWO]);
    const [one, two] = await inForce();
    expect(body.changes.map(({ id }: Parsed) => id)).toEqual([one.id, two.id]);
    expect(body.policySet).toBe(setOf([one.id, two.id]));
    expect((await auditOf(app, one.id)).map(({ action, details }) => [action, details?.['policySet']])).toEqual([
      ['policy.created', body.policySet],
    ]);
    expect((await plan([ONE])).base).toBe(body.policySet);
  });

  it('can supersede, activate, keep and prune', async () => {
    await applied([ONE, TWO]);
    const next = { ...ONE, version: '2' };
    const [one, two] = await inForce();
    const { changes } = await applied([next, { ...TWO, name: 'three' }], { prune: true });
    expect(changes).toEqual([
      {
        change: 'create',
        name: 'one',
        version: '2',
        id: expect.any(String),
        replaces: { id: one.id, version: '1' },
        differences: [],
      },
      { change: 'create', name: 'three', version: '1', id: expect.any(String), replaces: null, differences: [] },
      { change: 'deactivate', name: 'two', version: '1', id: two.id, replaces: null, differences: [] },
    ]);
    const back = await applied([TWO, ONE, { ...TWO, name: 'three' }]);
    expect(back.changes.map(({ change, id, replaces }: Parsed) => [change, id, replaces?.version])).toEqual([
      ['activate', two.id, undefined],
      ['activate', one.id, '2'],
      ['keep', changes[1].id, undefined],
    ]);
    expect((await auditOf(app, one.id)).map(({ action }) => action)).toEqual([
      ...['policy.created', 'policy.superseded', 'policy.activated'],
    ]);
    expect((await inForce()).map(({ name, version }) => `${name} ${version}`).sort()).toEqual([
      'one 1',
      'three 1',
      'two 1',
    ]);
  });

  it('shows what it prunes last, by name', async () => {
    await applied(['c', 'a', 'b'].map((name) => ({ ...ONE, name })));
    const { changes } = await plan(
      [
        { ...TWO, name: 'z' },
        { ...ONE, name: 'b' },
      ],
      { prune: true },
    );
    expect(changes.map(({ change, name }: Parsed) => [change, name])).toEqual([
      ['create', 'z'],
      ['keep', 'b'],
      ['deactivate', 'a'],
      ['deactivate', 'c'],
    ]);
  });

  it('that is already in force leaves no entry', async () => {
    const { policySet } = await applied([ONE]);
    const before = await entries();
    const again = { ...ONE, description: '', resourceTypes: [], priority: 0, conditions: null };
    const answer = await apply(policySet, [again]);
    expect(answer.body).toMatchObject({ changes: [{ change: 'keep' }], policySet });
    expect(await entries()).toBe(before);
  });

  it('is applied only to the set that it was planned for, and only once when many apply it', async () => {
    const { base } = await plan([ONE]);
    const answers = await Promise.all(['1', '2', '3'].map((version) => apply(base, [{ ...ONE, version }])));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
    const lost = answers.find(({ status }) => status === 412);
    expect(lost?.body.error.code).toBe('PRECONDITION_FAILED');
    // The base is checked before existing versions.
    const [{ version }] = await inForce();
    expect((await apply(base, [{ ...ONE, version, effect: 'deny' }])).status).toBe(412);
    expect((await apply(base.slice(1), [])).status).toBe(400);
  });

  it('cannot change the content of a version', async () => {
    const { policySet } = await applied([ONE]);
    const changed = [TWO, { ...ONE, description: 'other', actions: ['read', 'write'] }];
    for (const answer of [await post('/plan', { policies: changed }), await apply(policySet, changed)]) {
      expect(answer.status).toBe(400);
      expect(Object.keys(faults(answer))).toEqual(['policies[1].actions']);
    }
    const request = { action: 'read', resourceType: 'a', resourceId: 'a', expect: 'deny' };
    const tests = [
      { ...request, subject: {} },
      { ...request, agent: 'nobody' },
    ];
    expect(Object.keys(faults(await post('/plan', { policies: changed, tests })))).toEqual([
      'policies[1].actions',
      'tests[1].agent',
    ]);
  });

  it('has valid policies, and one version of each', async () => {
    const policies = [
      ONE,
      { ...ONE, version: '2' },
      { ...TWO, effect: 'perhaps', more: 1 },
      7,
      { ...TWO, name: 'x', approval: {} },
    ];
    const answer = await post('/plan', { policies, prune: 'yes' });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer)).sort()).toEqual([
      ...['policies[1].name', 'policies[2].effect', 'policies[2].more', 'policies[3]', 'policies[4].approval', 'prune'],
    ]);
    expect(Object.keys(faults(await post('/apply', {})))).toEqual(['base', 'policies']);
    expect(Object.keys(faults(await post('/plan', { policies: {} })))).toEqual(['policies']);
    const many = Array.from({ length: 10_001 }, (_, index) => ({ ...ONE, name: `${index}` }));
    expect(Object.keys(faults(await post('/plan', { policies: many })))).toEqual(['policies']);
    const tests = Array(1_001).fill({
      agent: 'bot',
      action: 'read',
      resourceType: 'a',
      resourceId: 'a',
      expect: 'deny',
    });
    expect(Object.keys(faults(await post('/plan', { policies: [], tests })))).toEqual(['tests']);
  });

  it('is limited as a whole', async () => {
    const { policySet } = await applied(['a', 'b', 'c'].map((name) => ({ ...ONE, name })));
    const larger = ['a', 'b', 'd'].map((name) => ({ ...ONE, name }));
    for (const answer of [await post('/plan', { policies: larger }), await apply(policySet, larger)])
      expect(answer).toMatchObject({
        status: 409,
        body: { error: { message: expect.stringContaining('MAX_POLICIES') } },
      });
    const long = [
      {
        ...ONE,
        version: '2',
        name: 'a',
        resources: Array.from({ length: 5 }, (_, index) => `${index}`.padEnd(500, 'x')),
      },
    ];
    expect((await post('/plan', { policies: long })).body.error.message).toContain('MAX_POLICY_TEXT');
    const nobody = { agent: 'nobody', action: 'read', resourceType: 'a', resourceId: 'a', expect: 'deny' };
    expect(faults(await post('/plan', { policies: larger, tests: [nobody] }))).toEqual({
      'tests[0].agent': 'must be the id or the name of an existing agent',
    });
    expect((await applied(larger, { prune: true })).changes).toHaveLength(4);
  });

  it('has warnings', async () => {
    const policies = [
      { ...ONE, subjects: ['agent:\u200bbot'] },
      { ...TWO, effect: 'require_approval' },
    ];
    const { warnings } = await plan(policies);
    expect(warnings).toEqual([
      expect.stringMatching(/^one \(version 1\): .*matches nothing/),
      expect.stringMatching(/^two \(version 1\): No active agent/),
    ]);
    await applied(policies);
    expect((await inForce()).flatMap(({ warnings: policyWarnings }) => policyWarnings)).toHaveLength(2);
    expect((await plan(policies)).warnings).toEqual([]);
  });

  it('shows which requests it would affect, whether that is all, and which policies never decide', async () => {
    const bot = await createAgent(app, { name: 'bot', roles: ['reader'] });
    await applied([{ ...ONE, actions: ['*'], resources: ['*'], subjects: ['role:reader'] }]);
    const closed = { ...TWO, effect: 'deny', actions: ['delete', 'read'], resources: ['https://example.com/*'] };
    const { effects, complete, reason, shadowed } = await plan([closed]);
    expect({ complete, reason }).toEqual({ complete: true, reason: null });
    const everywhere = { in: ['*'], except: [] };
    const common = {
      ...{ to: { effect: 'deny' }, actions: { in: ['delete', 'read'], except: [] }, resourceTypes: everywhere },
      ...{ resources: { in: ['https://example.com/*'], except: [] }, when: { hold: [], fail: [] } },
    };
    const to = [{ id: null, name: 'two', version: '1' }];
    const [{ id }] = await inForce();
    expect(effects).toEqual([
      {
        ...common,
        from: { effect: 'allow' },
        subjects: [bot.id],
        because: { from: [{ id, name: 'one', version: '1' }], to },
      },
      {
        ...common,
        from: { effect: 'no_policy' },
        subjects: ['other:machine', 'other:human'],
        because: { from: [], to },
      },
    ]);
    expect(shadowed).toEqual([]);
    const hidden = { ...closed, name: 'hidden', effect: 'allow', actions: ['read'] };
    expect((await plan([closed, hidden])).shadowed).toEqual([
      { policy: { id: null, name: 'hidden', version: '1' }, by: to[0] },
    ]);
  });

  it('is compared in every spelling of a resource, and says if that was not possible', async () => {
    await applied([{ ...ONE, resources: ['*'] }]);
    const closed = { ...TWO, effect: 'deny', actions: ['read'], resources: ['docs/a b'] };
    const { effects, complete } = await plan([closed]);
    const regions = effects.map(({ from, to, resources }: Parsed) => [from.effect, to.effect, resources]);
    expect({ complete, regions }).toEqual({
      complete: true,
      regions: [
        ['allow', 'deny', { in: ['docs/a b', 'docs/a%20b'], except: [] }],
        ['allow', 'deny', { in: ['a b', 'a%20b', 'docs/a b', 'docs/a%20b'], except: [] }],
      ],
    });
    const one = { ...TWO, resources: ['docs/a%20b', 'docs/c'] };
    expect(await plan([one])).toMatchObject({
      complete: false,
      reason: expect.stringContaining('percent-encoded'),
      effects: [{ resources: { in: ['docs/c'] } }, { resources: { in: ['c', 'docs/c'] } }],
    });
  });

  it('changes nothing if only the order of conditions differs', async () => {
    const [amount, ready] = [
      { parameter: '/amount', op: 'gt', value: 5 },
      { parameter: '/ready', op: 'eq', value: true },
    ];
    await applied([{ ...ONE, conditions: [amount, ready] }]);
    const other = { ...ONE, version: '2', conditions: [ready, { value: 5, op: 'gt', parameter: '/amount' }] };
    expect(await plan([other])).toMatchObject({ changes: [{ change: 'create' }], effects: [], complete: true });
  });

  it('is planned while one other plan waits; more are refused', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post('/plan', { policies: [ONE] })));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeLessThanOrEqual(2);
    for (const { status, headers } of refused) expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    // Even before the versions out of force are read.
    await applied([ONE]);
    await applied([{ ...ONE, version: '2' }]);
    const faulty = Array.from({ length: 30 }, () => post('/plan', { policies: [{ ...ONE, effect: 'deny' }] }));
    const statuses = (await Promise.all(faulty)).map(({ status }) => status);
    expect([...new Set(statuses)].sort()).toEqual([400, 503]);
  });

  it('is planned anew under an Idempotency-Key, which only has to have the right form', async () => {
    const keyed = (key: string, policies: object[]): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies/plan', { body: { policies }, headers: { 'Idempotency-Key': key } });
    for (const policies of [[], [ONE], [ONE, TWO]])
      expect((await keyed('plan', policies)).body.changes).toHaveLength(policies.length);
    expect(Object.keys(faults(await keyed('a plan', [])))).toEqual(['header.Idempotency-Key']);
  });

  it('is planned with `read` or `policies`, applied with `policies`', async () => {
    const { secret: key } = await issueKey(app, { scopes: ['read'] });
    const body = { policies: [ONE], base: setOf([]) };
    const { base, ...planned } = body;
    expect((await send(app, 'POST', '/api/v1/policies/plan', { key, body: planned })).status).toBe(200);
    expect((await send(app, 'POST', '/api/v1/policies/apply', { key, body: { ...planned, base } })).status).toBe(403);
  });
});

it('A set of policies that cannot be compared in time has an incomplete plan that says so', async () => {
  const app = await createTestApp({ environment: { PLAN_TIMEOUT: '1' } });
  const policies = Array.from({ length: 500 }, (_, index) => ({
    ...ONE,
    ...{ name: `policy-${index}`, resources: [`a/${index}`], priority: index % 2 },
  }));
  const { status, body } = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies } });
  expect({ status, ...body }).toMatchObject({ status: 200, base: setOf([]), complete: false });
  expect(body.reason).toBe('The plan took longer than PLAN_TIMEOUT allows (1 ms).');
  expect(body.changes).toHaveLength(500);
  expect(body.effects.length).toBeLessThan(500);
  // The plan can still be applied.
  const apply = await send(app, 'POST', '/api/v1/policies/apply', { body: { base: body.base, policies } });
  expect(apply.body.changes).toHaveLength(500);
  await app.close();
});

it('A set of policies may be larger than other bodies', async () => {
  const app = await createTestApp({ environment: { BODY_LIMIT: '1000', PLAN_BODY_LIMIT: '3000' } });
  const sized = (bytes: number): object => ({ policies: [{ ...ONE, description: 'x'.repeat(bytes) }] });
  const statuses = [];
  for (const [path, bytes] of [
    ['/plan', 2000],
    ['/plan', 3000],
    ['', 2000],
  ] as const)
    statuses.push((await send(app, 'POST', `/api/v1/policies${path}`, { body: sized(bytes) })).status);
  expect(statuses).toEqual([200, 413, 413]);
  await app.close();
});

function setOf(ids: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([...ids].sort()))
    .digest('hex');
}
