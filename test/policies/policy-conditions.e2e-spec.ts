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
    expect(warnings).toEqual([
      expect.stringMatching(/^conditions\[1\] does not check a path.*"within"/),
      expect.stringMatching(/^conditions\[2\] checks only how \/path begins.*"within"/),
    ]);
  });

  it.each([...['command', 'cmd', 'path', 'file', 'url', 'uri', 'host', 'email', 'to', 'address', 'sql', 'CMD']])(
    'warn of a prefix of /%s',
    async (name) => {
      const warned = async (parameter: string): Promise<string> =>
        (
          await createPolicy(app, { resources: ['p'], conditions: [{ parameter, op: 'prefix', value: 'a' }] })
        ).warnings.join();
      expect(await warned(`/x/${name}`)).toMatch(
        /^conditions\[0\] checks only how \/x\/.* begins: .*"(?:in|within|domain)"/,
      );
      expect(await warned(`/${name}/*`)).toMatch(/checks only how/);
      expect(await warned(`/${name}/x`)).toBe('');
      expect(await warned(`/x${name}`)).toBe('');
    },
  );

  it('look at the clock: at the time of the request, or at the time in `asOf`', async () => {
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
    const request = { action: 'pay', resourceType: 'invoice', resourceId: 'office', parameters: {} };
    const executed = await send(app, 'POST', '/api/v1/agents/payer/execute', { body: request });
    expect(executed.status).toBe(200);
    const { body } = await send(app, 'GET', `/api/v1/provenance?subjectId=${executed.body.id}`);
    const evaluate = async (asOf: number | string): Promise<unknown> => {
      const question = { ...request, agent: 'payer', asOf };
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
      { clock: 'Europe/Berlin', except: ['2026-12-25', '2027-01-01'], op: 'between', value: ['08:00', '24:00'] },
      { parameter: '/to/*', op: 'domain', value: ['acme.example'] },
      { principal: 'id', op: 'eq', value: { resource: 'last' } },
      { resource: 'last', op: 'ne', value: { principal: 'type' } },
      { parameter: '/customer', op: 'eq', value: { principal: 'id' } },
    ];
    const sealed = async (id: string): Promise<object> => {
      const { body } = await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`);
      return (await send(app, 'GET', `/api/v1/provenance/${body.data[0].sequence}`)).body.state;
    };
    const { body } = await create(conditions);
    expect(body.conditions).toEqual(conditions);
    expect(await sealed(body.id)).toMatchObject({ conditions });
    expect(await sealed((await create([])).body.id)).not.toHaveProperty('conditions');
    const [span] = conditions.filter(({ op }) => op === 'between');
    const empty = await create([
      { ...span, except: [] },
      { ...span, except: null },
    ]);
    expect(await sealed(empty.body.id)).toMatchObject({ conditions: [span, span] });
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

  it('compare the principal, the resource and hosts', async () => {
    const own = { principal: 'id', op: 'eq', value: { resource: 'last' } };
    const inside = { parameter: '/to/*', op: 'domain', value: ['acme.example'] };
    const actions = ['send'];
    await createPolicy(app, { name: 'own mails', actions, resources: ['customers/*'], conditions: [own, inside] });
    const sends = async (resourceId: string, subject: string | null, to: unknown): Promise<number> => {
      const onBehalfOf = subject === null ? null : { subject };
      const body = { action: 'send', resourceType: 'customer', resourceId, parameters: { to }, onBehalfOf };
      return (await send(app, 'POST', '/api/v1/agents/payer/execute', { body })).status;
    };
    expect(await sends('customers/4711', 'customer:4711', ['ann@acme.example', 'bob@eu.acme.example'])).toBe(200);
    for (const to of [['ann@acme.example', 'bob@evil-acme.example'], [], 'ann@acme.example', ['ann@acme.example.']])
      expect(await sends('customers/4711', 'customer:4711', to)).toBe(403);
    expect(await sends('customers/4712', 'customer:4711', ['ann@acme.example'])).toBe(403);
    expect(await sends('customers/4711', null, ['ann@acme.example'])).toBe(403);
    // Without a principal the condition is unknown, so a deny applies.
    const foreign = { principal: 'type', op: 'ne', value: 'staff' };
    await createPolicy(app, { actions, resources: ['vault/*'] });
    await createPolicy(app, { effect: 'deny', actions, resources: ['vault/*'], conditions: [foreign] });
    expect(await sends('vault/1', 'staff:ann', [])).toBe(200);
    for (const subject of ['customer:4711', null]) expect(await sends('vault/1', subject, [])).toBe(403);
  });

  const FAULTY: [unknown, string][] = [
    ...[
      'evil',
      5,
      [],
      ['ACME.example'],
      ['bücher.example'],
      ['127.0.0.1'],
      ['acme.example.'],
      ['*.acme.example'],
      [5],
    ].map((value): [unknown, string] => [
      [{ parameter: '/a', op: 'domain', value }],
      `conditions[0].value${Array.isArray(value) && value.length > 0 ? '[0]' : ''}`,
    ]),
    [[{ parameter: '/a', op: 'domain', value: Array.from({ length: 51 }, () => 'a.example') }], 'conditions[0].value'],
    [[{ principal: 'name', op: 'eq', value: 'a' }], 'conditions[0].principal'],
    [[{ principal: 'id', op: 'prefix', value: 'a' }], 'conditions[0].op'],
    [[{ principal: 'id', op: 'eq', value: 'cafe\u0301' }], 'conditions[0].value'],
    [[{ principal: 'id', op: 'in', value: ['cafe\u0301'] }], 'conditions[0].value'],
    [[{ principal: 'id', op: 'eq', value: { principal: 'roles' } }], 'conditions[0].value.principal'],
    [[{ principal: 'id', resource: 'last', op: 'eq', value: 'a' }], 'conditions[0].resource'],
    [[{ resource: 'same', op: 'eq', value: 'a' }], 'conditions[0].resource'],
    [[{ resource: 'last', op: 'eq', value: { resource: 'first' } }], 'conditions[0].value.resource'],
    [[{ resource: 'last', op: 'eq', value: { resource: 'last', parameter: '/a' } }], 'conditions[0].value.parameter'],
    [[{ parameter: '/a', op: 'lt', value: { principal: 'id', parameter: '/b' } }], 'conditions[0].value.principal'],
    [[{ parameter: '/a', op: 'eq', except: ['2026-12-25'], value: 1 }], 'conditions[0].except'],
    ...['2026-02-30', '2026-1-1', '25.12.2026', '2026-12-25T00:00:00Z', 5].map((date): [unknown, string] => [
      [{ clock: 'UTC', op: 'between', value: ['08:00', '09:00'], except: ['2026-12-24', date] }],
      'conditions[0].except[1]',
    ]),
    [
      [{ clock: 'UTC', op: 'between', value: ['08:00', '09:00'], except: ['2026-12-25', '2026-12-25'] }],
      'conditions[0].except[1]',
    ],
    [
      [{ clock: 'UTC', op: 'between', value: ['08:00', '09:00'], except: Array.from({ length: 401 }, () => 'a') }],
      'conditions[0].except',
    ],
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
