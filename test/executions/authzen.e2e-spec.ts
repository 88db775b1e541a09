import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey, policySetOf } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

const ACTION = { action: { name: 'read' } };
const RESOURCE = { resource: { type: 'document', id: 'a/b' } };
const ALICE = { subject: { type: 'user', id: 'alice' } };
const BOT = { subject: { type: 'agent', id: 'bot' } };
const ALLOWED = { ...BOT, ...ACTION, ...RESOURCE };
const DENIED = { ...ALLOWED, action: { name: 'burn' } };

describe('AuthZEN', () => {
  let app: TestApp;
  let bot: string;

  beforeAll(async () => {
    const environment = { RATE_LIMIT: '1000000', PUBLIC_URL: 'https://pdp.example.com/' };
    app = await createTestApp({ environment });
    bot = (await createAgent(app, { name: 'bot', capabilities: ['read', 'burn', 'pay'], roles: ['ops'] })).id;
    await createPolicy(app, { name: 'ops', subjects: ['role:ops'], actions: ['read'] });
    await createPolicy(app, { name: 'burns', actions: ['burn'], effect: 'deny' });
    const approval = { approvers: [{ subjects: ['role:boss'] }] };
    await createPolicy(app, { name: 'pays', actions: ['pay'], effect: 'require_approval', approval });
    await createPolicy(app, { name: 'alice', subjects: ['user:alice'], actions: ['greet'] });
    await createPolicy(app, { name: 'robots', subjects: ['robot:*', 'user:caf\u00e9'], actions: ['greet'] });
    await createPolicy(app, { name: 'agents', subjects: ['agent:*', 'kind:machine', 'alice'], actions: ['meet'] });
    const conditions = [{ parameter: '/amount', op: 'lt', value: 10 }];
    await createPolicy(app, { name: 'small', actions: ['spend'], conditions });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  interface Options {
    key?: string | null;
    headers?: Record<string, string>;
  }
  function evaluation(body: object, options: Options = {}): Promise<Answer> {
    return send(app, 'POST', '/access/v1/evaluation', { body, ...options });
  }
  function evaluations(body: object, options: Options = {}): Promise<Answer> {
    return send(app, 'POST', '/access/v1/evaluations', { body, ...options });
  }
  async function decided(body: object): Promise<[boolean, string | null]> {
    const { status, body: answer } = await evaluation({ ...ALLOWED, ...body });
    expect(status).toBe(200);
    return [answer.decision, answer.context.reason];
  }
  async function list(body: object): Promise<unknown[]> {
    const { status, body: answer } = await evaluations(body);
    expect(status).toBe(200);
    return answer.evaluations.map(({ decision, context }: Answer['body']) => [
      decision,
      context.error?.status ?? context.reason,
    ]);
  }

  it('publishes its configuration to everybody', async () => {
    const { status, body, headers } = await send(app, 'GET', '/.well-known/authzen-configuration', { key: null });
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('application/json')]);
    expect(body).toEqual({
      policy_decision_point: 'https://pdp.example.com',
      access_evaluation_endpoint: 'https://pdp.example.com/access/v1/evaluation',
      access_evaluations_endpoint: 'https://pdp.example.com/access/v1/evaluations',
    });
  });

  it('decides true for allowed requests only', async () => {
    const policySet = await policySetOf(app);
    expect((await evaluation(ALLOWED)).body).toEqual({
      decision: true,
      context: { reason: null, policies: [expect.objectContaining({ name: 'ops', effect: 'allow' })], policySet },
    });
    expect((await evaluation(DENIED)).body).toEqual({
      decision: false,
      context: { reason: 'policy_denied', policies: [expect.objectContaining({ name: 'burns' })], policySet },
    });
    expect((await evaluation({ ...ALLOWED, action: { name: 'pay' } })).body).toEqual({
      decision: false,
      context: {
        reason: 'approval_required',
        policies: [expect.objectContaining({ name: 'pays' })],
        policySet,
        approvalRequirement: expect.objectContaining({ approvers: [{ subjects: ['role:boss'], approvals: 1 }] }),
      },
    });
  });

  it('finds agents by id and name, and checks their capabilities; properties in the request are ignored', async () => {
    const withId = (id: string, properties?: object): object => ({ subject: { type: 'agent', id, properties } });
    expect(await decided(withId(bot))).toEqual([true, null]);
    expect(await decided(withId('nobody'))).toEqual([false, 'agent_unknown']);
    expect(await decided(withId('nobody', { roles: ['ops'] }))).toEqual([false, 'agent_unknown']);
    expect(await decided({ action: { name: 'fly' } })).toEqual([false, 'capability_missing']);
    expect(await decided({ ...withId('bot', { roles: [] }) })).toEqual([true, null]);
  });

  it('judges any other subject by its type, its id, and the roles that the caller vouches for', async () => {
    const greets = (type: string, id: string, properties?: object): Promise<[boolean, string | null]> =>
      decided({ subject: { type, id, properties }, action: { name: 'greet' } });
    expect(await greets('user', 'alice')).toEqual([true, null]);
    expect(await greets('user', 'bob')).toEqual([false, 'no_policy_allows']);
    expect(await greets('robot', 'r2')).toEqual([true, null]);
    expect(await greets('user', 'cafe\u0301')).toEqual([true, null]);
    const roles = { properties: { roles: ['ops'] } };
    expect(await decided({ subject: { ...ALICE.subject, ...roles } })).toEqual([true, null]);
    expect(await decided(ALICE)).toEqual([false, 'no_policy_allows']);
    expect(await decided({ ...ALICE, action: { name: 'meet' } })).toEqual([false, 'no_policy_allows']);
    for (const type of ['role', 'kind', 'a:b', 'a*', '', 'a\u200b', 'x'.repeat(101)])
      expect(await greets(type, 'alice')).toEqual([false, 'subject_invalid']);
    for (const id of ['', 'a\nb', 'x'.repeat(501)])
      expect(await greets('user', id)).toEqual([false, 'subject_invalid']);
  });

  it('takes action.properties as the parameters, and decides false for what execute would refuse', async () => {
    const spend = (properties?: object): object => ({ ...ALICE, action: { name: 'spend', properties } });
    expect(await decided(spend({ amount: 9 }))).toEqual([true, null]);
    expect(await decided(spend({ amount: 11 }))).toEqual([false, 'no_policy_allows']);
    expect(await decided(spend())).toEqual([false, 'no_policy_allows']);
    for (const resource of [
      { type: 'document', id: 'a//b' },
      { type: 'a/b', id: 'a' },
      { type: '', id: 'a' },
      { type: 'document', id: 'x'.repeat(501) },
    ])
      expect(await decided({ resource })).toEqual([false, 'resource_invalid']);
    expect(await decided({ action: { name: ' ' } })).toEqual([false, 'resource_invalid']);
  });

  it('ignores unknown and irrelevant members', async () => {
    const body = {
      subject: { ...BOT.subject, properties: { department: 'x' }, more: 1 },
      action: { name: 'read', method: 'GET' },
      resource: { ...RESOURCE.resource, properties: { owner: 'x' } },
      context: { time: '2026-01-01T00:00:00Z' },
      more: [1],
    };
    expect(await decided(body)).toEqual([true, null]);
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['action', 'resource', 'subject']],
    ['texts for objects', { ...ALLOWED, subject: 'bot', context: 'x' }, ['context', 'subject']],
    ['numbers for texts', { ...ALLOWED, action: { name: 1 }, resource: { type: 'x' } }, ['action.name', 'resource.id']],
    ['lists for objects', { ...ALLOWED, action: { name: 'x', properties: [] } }, ['action.properties']],
    [
      'other roles',
      { ...ALLOWED, subject: { ...ALICE.subject, properties: { roles: [1] } } },
      ['subject.properties.roles'],
    ],
    ['another agent and run', { ...ALLOWED, context: { agent: 1, run: 'a\u200b' } }, ['context.agent', 'context.run']],
    ['other properties', { ...ALLOWED, subject: { ...ALICE.subject, properties: 1 } }, ['subject.properties']],
  ])('refuses %s', async (_what, body, expected) => {
    for (const answer of [
      await evaluation(body),
      await evaluations(body),
      await evaluations({ ...body, evaluations: [] }),
    ]) {
      expect([answer.status, answer.body.error?.code]).toEqual([400, 'VALIDATION_ERROR']);
      expect(Object.keys(faults(answer)).sort()).toEqual(expected);
    }
  });

  it('applies the rules of JSON values to bodies', async () => {
    const text = JSON.stringify(ALLOWED).replace('"a/b"', '"a/b","x":12345678901234567890');
    const answer = await send(app, 'POST', '/access/v1/evaluation', { body: text });
    expect(Object.keys(faults(answer))).toEqual(['resource.x']);
    expect((await send(app, 'POST', '/access/v1/evaluation', { body: '[]' })).status).toBe(400);
    const plain = await send(app, 'POST', '/access/v1/evaluation', {
      body: '{}',
      headers: { 'Content-Type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
  });

  it('answers a list in order, by one set of policies; a part of an item replaces the whole default', async () => {
    const { body } = await evaluations({
      ...ALLOWED,
      evaluations: [{}, { action: { name: 'burn' } }, { ...ALICE, action: { name: 'greet' } }],
    });
    expect(Object.keys(body)).toEqual(['evaluations']);
    expect(body.evaluations.map(({ decision }: { decision: boolean }) => decision)).toEqual([true, false, true]);
    const sets = body.evaluations.map(({ context }: Answer['body']) => context.policySet);
    expect(new Set(sets)).toEqual(new Set([await policySetOf(app)]));
    const action = { name: 'spend', properties: { amount: 1 } };
    expect(await list({ ...ALICE, ...RESOURCE, action, evaluations: [{}, { action: { name: 'spend' } }] })).toEqual([
      [true, null],
      [false, 'no_policy_allows'],
    ]);
  });

  it('answers a single evaluation if there is no list, or an empty one', async () => {
    for (const members of [{}, { evaluations: [] }, { evaluations: null }])
      expect((await evaluations({ ...ALLOWED, ...members })).body).toMatchObject({ decision: true });
  });

  it('reports every fault of a single evaluation, also those next to it', async () => {
    const options = { evaluations_semantic: 'some' };
    for (const members of [{}, { evaluations: [] }])
      expect(Object.keys(faults(await evaluations({ ...RESOURCE, ...members, options })))).toEqual([
        ...['options.evaluations_semantic', 'subject', 'action'],
      ]);
    const both = await evaluations({ evaluations: {}, subject: 'alice' });
    expect(Object.keys(faults(both))).toEqual(['evaluations', 'subject']);
  });

  it('reports the fault of an item in its place', async () => {
    const items = [
      {},
      1,
      { resource: { type: 'x' } },
      { subject: { type: 'user', id: 'x', properties: { roles: 'ops' } } },
      { action: null },
    ];
    expect(await list({ ...ALLOWED, evaluations: items })).toEqual([
      [true, null],
      [false, 400],
      [false, 400],
      [false, 400],
      [true, null],
    ]);
    const { body } = await evaluations({ ...ACTION, ...RESOURCE, evaluations: [{}] });
    expect(body.evaluations).toEqual([
      { decision: false, context: { error: { status: 400, message: 'Invalid input: subject is required.' } } },
    ]);
  });

  it('names the first faults of the defaults in the place of each item, and the number of the others', async () => {
    const properties = { a: Array(900).fill({ $secret: 1 }) };
    const action = { name: 'read', properties };
    const { body } = await evaluations({ ...ALLOWED, action, evaluations: Array(50).fill({}) });
    for (const { context } of body.evaluations)
      expect(context.error.message).toMatch(
        /^Invalid input: action\.properties\.a\[0\]\.\$secret .{1,300}; and 897 more\.$/,
      );
    expect(body.evaluations).toHaveLength(50);
  });

  it('ends a list with the deciding item if the request says so', async () => {
    const evaluate = (semantic: string | null, ...items: object[]): Promise<unknown[]> =>
      list({ ...ALLOWED, evaluations: items, options: { evaluations_semantic: semantic } });
    const [yes, no] = [
      [true, null],
      [false, 'policy_denied'],
    ];
    expect(await evaluate('execute_all', {}, DENIED, {})).toEqual([yes, no, yes]);
    expect(await evaluate(null, {}, DENIED, {})).toEqual([yes, no, yes]);
    expect(await evaluate('deny_on_first_deny', {}, DENIED, {})).toEqual([yes, no]);
    expect(await evaluate('permit_on_first_permit', DENIED, {}, {})).toEqual([no, yes]);
    expect(await evaluate('deny_on_first_deny', {}, { subject: 1 }, {})).toEqual([yes, [false, 400]]);
  });

  it.each<[string, object, string[]]>([
    ['a list that is none', { evaluations: {} }, ['evaluations']],
    ['too long a list', { evaluations: Array(1_001).fill({}) }, ['evaluations']],
    [
      'unknown semantics',
      { evaluations: [{}], options: { evaluations_semantic: 'some' } },
      ['options.evaluations_semantic'],
    ],
    ['unknown semantics without a list', { options: { evaluations_semantic: 1 } }, ['options.evaluations_semantic']],
    ['other options and defaults', { evaluations: [{}], options: [], subject: 'x' }, ['options', 'subject']],
  ])('refuses %s as a whole', async (_what, body, expected) => {
    const answer = await evaluations({ ...ALLOWED, ...body });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer)).sort()).toEqual(expected);
  });

  it('accepts 1,000 at once', async () => {
    const answers = await list({ ...ALLOWED, evaluations: Array(1_000).fill({}) });
    expect(answers).toHaveLength(1_000);
  });

  it('echoes any visible X-Request-ID, unless it shows a secret', async () => {
    const echoed = async (path: string, id: string): Promise<string | null> =>
      (await send(app, 'POST', path, { body: ALLOWED, headers: { 'X-Request-ID': id } })).headers.get('x-request-id');
    const id = 'urn:uuid:{bfe9eb29}/~!"';
    expect(await echoed('/access/v1/evaluation', id)).toBe(id);
    expect(await echoed('/access/v1/evaluations', 'x'.repeat(128))).toBe('x'.repeat(128));
    expect(await echoed('/access/v1/evaluation', 'x'.repeat(129))).not.toBe('x'.repeat(129));
    expect(await echoed('/api/v1/policies/evaluate', id)).not.toBe(id);
    const { secret } = await issueKey(app, { scopes: ['execute'] });
    const options = { key: secret, headers: { 'X-Request-ID': `a/${secret.slice(-10)}` } };
    expect((await evaluation(ALLOWED, options)).headers.get('x-request-id')).not.toContain(secret.slice(-10));
  });

  it('accepts the same callers, and has the same shape of errors', async () => {
    const key = async (scopes: string[], agentId?: string): Promise<string> =>
      (await issueKey(app, { scopes, ...(agentId !== undefined && { agentId }) })).secret;
    expect((await evaluation(ALLOWED, { key: null })).body.error.code).toBe('UNAUTHORIZED');
    expect((await evaluation(ALLOWED, { key: await key(['audit']) })).body.error.reason).toBe('scope_missing');
    expect((await evaluation({}, { key: await key(['execute']) })).status).toBe(400);
    const bound = { key: await key(['execute'], bot) };
    expect((await evaluation(ALLOWED, bound)).body.decision).toBe(true);
    const own = { ...ALLOWED, evaluations: [{}, { subject: { type: 'agent', id: bot } }, 1] };
    expect((await evaluations(own, bound)).status).toBe(200);
    for (const others of [
      ALICE,
      { subject: { type: 'agent', id: 'other' } },
      { subject: { type: 'role', id: 'ops' } },
    ]) {
      expect((await evaluation({ ...ALLOWED, ...others }, bound)).body.error?.reason).toBe('not_this_agent');
      const answer = await evaluations({ ...ALLOWED, evaluations: [{}, others] }, bound);
      expect([answer.status, answer.body.error?.reason]).toEqual([403, 'not_this_agent']);
    }
    expect((await evaluation({ ...ALLOWED, ...ALICE }, { key: await key(['read'], bot) })).status).toBe(200);
    const repeated = { headers: { 'Idempotency-Key': 'k' } };
    expect((await evaluation(ALLOWED, repeated)).body.decision).toBe(true);
    expect((await evaluation(DENIED, repeated)).body.decision).toBe(false);
    expect((await evaluation(ALLOWED, { headers: { 'Idempotency-Key': 'a b' } })).status).toBe(400);
  });
});

describe('AuthZEN without PUBLIC_URL', () => {
  it('has no configuration, but still answers', async () => {
    const app = await createTestApp();
    expect((await send(app, 'GET', '/.well-known/authzen-configuration')).status).toBe(404);
    expect((await send(app, 'POST', '/access/v1/evaluation', { body: ALLOWED })).body).toMatchObject({
      decision: false,
      context: { reason: 'agent_unknown' },
    });
    await app.close();
  });
});
