import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';

describe('Policies with conditions', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'payer', capabilities: ['pay', 'pay-late', 'send'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const create = (conditions: unknown): Promise<Answer> => {
    const rules = { effect: 'allow', subjects: ['nobody'], actions: ['a'], resources: ['*'] };
    const name = `policy ${Math.random()}`;
    return send(app, 'POST', '/api/v1/policies', { body: { name, version: '1', ...rules, conditions } });
  };
  const execute = async (resourceId: string, parameters: object, action = 'pay'): Promise<number> => {
    const body = { action, resourceType: 'invoice', resourceId, parameters };
    return (await send(app, 'POST', '/api/v1/agents/payer/execute', { body })).status;
  };

  it('allow where all conditions are true, and forbid unless one is false', async () => {
    const most = { parameter: '/amount/value', op: 'lte', value: 100 };
    await createPolicy(app, { resources: ['allowed'], conditions: [most] });
    await createPolicy(app, { resources: ['denied'] });
    await createPolicy(app, { effect: 'deny', resources: ['denied'], conditions: [{ ...most, op: 'gt' }] });
    for (const resource of ['allowed', 'denied']) {
      expect(await execute(resource, { amount: { value: 100 } })).toBe(200);
      expect(await execute(resource, { amount: { value: 100.5 } })).toBe(403);
      // A parameter that is missing, or is not a number, neither satisfies an allow nor evades a deny.
      for (const amount of [undefined, {}, { value: '5' }, { value: null }, { value: [5] }, 5])
        expect(await execute(resource, { amount })).toBe(403);
    }
  });

  it('are named where they alone keep a policy from allowing', async () => {
    const conditions = [{ parameter: '/amount', op: 'eq', value: 1 }];
    for (const name of ['nearly', 'nearly too']) await createPolicy(app, { name, resources: ['near'], conditions });
    await createPolicy(app, { name: 'not nearly', subjects: ['nobody'], resources: ['near'] });
    const body = { action: 'pay', resourceType: 'invoice', resourceId: 'near', parameters: { amount: 2 } };
    const { error } = (await send(app, 'POST', '/api/v1/agents/payer/execute', { body })).body;
    expect(error).toMatchObject({
      reason: 'no_policy_allows',
      message: expect.stringMatching(/The policy "nearly" \(version 1.*\) would, but its conditions do not hold\.$/),
    });
  });

  it('tell a number from a text, so that neither evades a deny', async () => {
    await createPolicy(app, { resources: ['account'] });
    const conditions = [{ parameter: '/account', op: 'eq', value: 4711 }];
    await createPolicy(app, { effect: 'deny', resources: ['account'], conditions });
    for (const account of [4711, '4711', true]) expect(await execute('account', { account })).toBe(403);
    for (const account of [4712, null]) expect(await execute('account', { account })).toBe(200);
  });

  it('tell whether paths lie within another, and warn of prefixes, which do not', async () => {
    const path = { parameter: '/path', op: 'within', value: '/srv/public' };
    expect((await createPolicy(app, { resources: ['file'], conditions: [path] })).warnings).toEqual([]);
    expect(await execute('file', { path: '/srv/public/a' })).toBe(200);
    for (const evading of ['/srv/public/../secret', '/srv/public2', '/srv/public/%2e%2e/secret'])
      expect(await execute('file', { path: evading })).toBe(403);
    const { warnings } = await createPolicy(app, {
      resources: ['file'],
      conditions: [path, { ...path, op: 'prefix', value: 'srv/' }, { ...path, op: 'prefix', value: 'srv' }],
    });
    expect(warnings).toEqual([expect.stringMatching(/^conditions\[1\] does not check a path.*"within"/)]);
  });

  it('look at the clock: of the request, or of the time asked about', async () => {
    const now = new Date(Date.now() - 60_000);
    const at = (hours: number): string => new Date(now.getTime() + hours * 3_600_000).toISOString().slice(11, 16);
    await createPolicy(app, {
      resources: ['office'],
      conditions: [{ clock: 'UTC', op: 'between', value: [at(0), at(1)] }],
    });
    await createPolicy(app, {
      resources: ['night'],
      conditions: [{ clock: 'UTC', op: 'between', value: [at(1), at(2)] }],
    });
    expect(await execute('night', {})).toBe(403);
    const asked = { action: 'pay', resourceType: 'invoice', resourceId: 'office', parameters: {} };
    const executed = await send(app, 'POST', '/api/v1/agents/payer/execute', { body: asked });
    expect(executed.status).toBe(200);
    const { body } = await send(app, 'GET', `/api/v1/provenance?subjectId=${executed.body.id}`);
    const evaluate = async (asOf: number | string): Promise<unknown> => {
      const question = { ...asked, agent: 'payer', asOf };
      return (await send(app, 'POST', '/api/v1/policies/evaluate', { body: question })).body.effect;
    };
    expect(await evaluate(body.data[0].sequence)).toBe('allow');
    expect(await evaluate(body.data[0].timestamp)).toBe('allow');
  });

  it('may name actions by a prefix', async () => {
    await createPolicy(app, { resources: ['begun'], actions: ['pay*'] });
    expect(await execute('begun', {})).toBe(200);
    expect(await execute('begun', {}, 'pay-late')).toBe(200);
    expect(await execute('begun', {}, 'send')).toBe(403);
  });

  it('are returned and sealed as they were sent, and other policies are sealed without them', async () => {
    const conditions = [
      { parameter: '/to/0', op: 'in', value: ['a', 1, true, null] },
      { parameter: '/x~1y', op: 'exists', value: false },
      { parameter: '/files/*', op: 'within', value: 'https://h' },
      { parameter: '/paid', op: 'lte', value: { parameter: '/due' } },
      { clock: 'Europe/Berlin', days: ['mon', 'fri'], op: 'between', value: ['08:00', '24:00'] },
    ];
    const sealed = async (id: string): Promise<object> => {
      const { body } = await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`);
      return (await send(app, 'GET', `/api/v1/provenance/${body.data[0].sequence}`)).body.state;
    };
    const { body } = await create(conditions);
    expect(body.conditions).toEqual(conditions);
    expect(await sealed(body.id)).toMatchObject({ conditions });
    expect(await sealed((await create([])).body.id)).not.toHaveProperty('conditions');
  });

  it.each(['deny', 'require_approval'])(
    'warn if they apply to every action that lacks the parameter: %s',
    async (effect) => {
      const conditions = [{ parameter: '/amount', op: 'gt', value: 100 }];
      const rules = { effect, subjects: ['kind:machine'], priority: -9, approval: null, conditions };
      const { warnings } = await createPolicy(app, rules);
      expect(warnings).toContain(
        'The action "*" with conditions: this holds for every action whose parameters lack /amount.',
      );
      const there = [...conditions, { parameter: '/amount', op: 'exists', value: true }];
      expect((await createPolicy(app, { ...rules, conditions: there })).warnings.join()).not.toContain('lack');
      const inside = [...conditions, { parameter: '/order/id', op: 'exists', value: true }];
      expect((await createPolicy(app, { ...rules, conditions: inside })).warnings.join()).toMatch(/lack \/amount\./);
      expect((await createPolicy(app, { ...rules, effect: 'allow' })).warnings).toEqual([]);
      expect((await createPolicy(app, { ...rules, effect: 'deny', actions: ['pay'] })).warnings).toEqual([]);
    },
  );

  const FAULTY: [unknown, string][] = [
    [{}, 'conditions'],
    [Array.from({ length: 21 }, () => ({ parameter: '/a', op: 'eq', value: 1 })), 'conditions'],
    [['/a'], 'conditions[0]'],
    [[{ op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: 'a', op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: '', op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: '/a~2', op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: `/${'a'.repeat(500)}`, op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: '/a', op: 'equals', value: 1 }], 'conditions[0].op'],
    [[{ parameter: '/a', op: 'eq' }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'eq', value: [] }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'in', value: [] }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'in', value: 1 }], 'conditions[0].value'],
    [
      [{ parameter: '/a', op: 'not_in', value: Array.from({ length: 101 }, (_, index) => index) }],
      'conditions[0].value',
    ],
    [[{ parameter: '/a', op: 'lt', value: '1' }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'prefix', value: 1 }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'exists', value: 1 }], 'conditions[0].value'],
    ...['/a/../b', '/a/', 'a/*', 'https://h/', 'file://', '/', '*', '', 5].map((value): [unknown, string] => [
      [{ parameter: '/a', op: 'within', value }],
      'conditions[0].value',
    ]),
    [[{ parameter: '/a/*/b/*', op: 'eq', value: 1 }], 'conditions[0].parameter'],
    [[{ parameter: '/a/*', op: 'exists', value: true }], 'conditions[0].parameter'],
    [[{ parameter: '/a', op: 'eq', value: { parameter: 'b' } }], 'conditions[0].value.parameter'],
    [[{ parameter: '/a', op: 'eq', value: { parameter: '/b/*' } }], 'conditions[0].value.parameter'],
    [[{ parameter: '/a', op: 'eq', value: { parameter: '/b', x: 1 } }], 'conditions[0].value.x'],
    [[{ parameter: '/a', op: 'prefix', value: { parameter: '/b' } }], 'conditions[0].value'],
    [[{ parameter: '/a', op: 'between', value: ['08:00', '09:00'] }], 'conditions[0].op'],
    ...['+02:00', 'Mars/Olympus', 5].map((clock): [unknown, string] => [
      [{ clock, op: 'between', value: ['08:00', '09:00'] }],
      'conditions[0].clock',
    ]),
    ...[['08:00', '08:00'], ['24:00', '00:00'], ['8:00', '09:00'], ['08:00', '24:01'], ['08:00'], 5].map(
      (value): [unknown, string] => [[{ clock: 'UTC', op: 'between', value }], 'conditions[0].value'],
    ),
    [[{ clock: 'UTC', days: [], op: 'between', value: ['08:00', '09:00'] }], 'conditions[0].days'],
    [[{ clock: 'UTC', days: ['mo'], op: 'between', value: ['08:00', '09:00'] }], 'conditions[0].days[0]'],
    [[{ clock: 'UTC', days: ['mon', 'mon'], op: 'between', value: ['08:00', '09:00'] }], 'conditions[0].days[1]'],
    [[{ clock: 'UTC', parameter: '/a', op: 'between', value: ['08:00', '09:00'] }], 'conditions[0].parameter'],
    [[{ parameter: '/a', op: 'eq', value: 1, not: true }], 'conditions[0].not'],
  ];
  it.each(FAULTY)('refuse %j', async (conditions, field) => {
    const answer = await create(conditions);
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([field]);
  });
});
