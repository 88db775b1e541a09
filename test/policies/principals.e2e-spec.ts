import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey, policySetOf } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';

type Members = Readonly<Record<string, unknown>>;

const ACTION = { action: 'pay', resourceType: 'invoice', resourceId: 'a' };
const LISTS = { subjects: ['*'], actions: ['*'], resources: ['*'] };

describe('Policies about principals', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    return { app };
  });

  afterEach(async () => {
    const base = await policySetOf(stage.app);
    await send(stage.app, 'POST', '/api/v1/policies/apply', { body: { base, policies: [], prune: true } });
  });

  function post(path: string, body: Members): Promise<Answer> {
    return send(stage.app, 'POST', `/api/v1/${path}`, { body });
  }

  async function effectFor(onBehalfOf?: Members): Promise<string> {
    const request = { ...ACTION, ...(onBehalfOf !== undefined && { onBehalfOf }) };
    const { effect } = (await post('policies/evaluate', { agent: 'bot', ...request })).body;
    const executed = await post('agents/bot/execute', request);
    expect(executed.status).toBe({ allow: 200, require_approval: 202, deny: 403 }[effect as 'allow']);
    return effect;
  }

  const ANN = { subject: 'agent:ann' };
  const USER = { subject: 'user:x' };
  const AUDITOR = { subject: 'user:y', roles: ['finance'] };

  it.each([
    [['*'], ['deny', 'allow', 'allow', 'allow']],
    [['agent:*'], ['deny', 'allow', 'deny', 'deny']],
    [['agent:ann'], ['deny', 'allow', 'deny', 'deny']],
    [['role:finance'], ['deny', 'allow', 'deny', 'allow']],
    [['user:*'], ['deny', 'deny', 'allow', 'allow']],
    [
      ['user:x', 'team:*'],
      ['deny', 'deny', 'allow', 'deny'],
    ],
  ])('an allow on behalf of %j needs a principal that it meets', async (onBehalfOf, effects) => {
    await createPolicy(stage.app, { onBehalfOf });
    const results = [];
    for (const principal of [undefined, ANN, USER, AUDITOR]) results.push(await effectFor(principal));
    expect(results).toEqual(effects);
  });

  it.each(['deny', 'require_approval'])('a %s is not evaded by naming no principal', async (effect) => {
    await createPolicy(stage.app);
    await createPolicy(stage.app, { effect, onBehalfOf: ['user:*'] });
    const results = [];
    for (const principal of [undefined, ANN, USER]) results.push(await effectFor(principal));
    expect(results).toEqual([effect, 'allow', effect]);
  });

  it('a refusal says that a principal is missing, if one would help', async () => {
    const message = async (more: Members = {}): Promise<string> =>
      (await post('agents/bot/execute', { ...ACTION, ...more })).body.error.message;
    await createPolicy(stage.app, { name: 'for users', version: '3', actions: ['pay'], onBehalfOf: ['user:x'] });
    const missing = 'The policy "for users" (version 3) may allow it on behalf of a principal: onBehalfOf is missing.';
    expect(await message()).toBe(`No policy in force allows this. ${missing}`);
    expect(await message({ onBehalfOf: { subject: 'user:z' } })).not.toContain('onBehalfOf is missing');
    expect(await message({ action: 'close' })).not.toContain('onBehalfOf is missing');
    const conditions = [{ parameter: '/none', op: 'exists', value: true }];
    await createPolicy(stage.app, { name: 'nearly', version: '1', conditions });
    expect(await message()).toBe(
      `No policy in force allows this. The policy "nearly" (version 1) would, but its conditions do not hold. ${missing}`,
    );
  });

  it('an answer names what a policy lacks', async () => {
    const { id } = await createPolicy(stage.app, { onBehalfOf: ['user:x'] });
    const question = { agent: 'bot', ...ACTION, explain: true };
    const { explanation } = (await post('policies/evaluate', question)).body;
    expect(explanation.nearest).toMatchObject([{ policy: { id }, missing: ['onBehalfOf'] }]);
    expect(explanation.bestEffect).toBe('deny');
    const open = { agent: 'bot', open: true, requests: [ACTION, { ...ACTION, onBehalfOf: USER }] };
    const { results } = (await post('policies/evaluate', open)).body;
    expect(results.map(({ effect }: { effect: string }) => effect)).toEqual(['deny', 'allow']);
  });

  it('are created, compared and refused by their patterns', async () => {
    const policy = { name: 'on behalf', version: '1', effect: 'allow', ...LISTS, onBehalfOf: ['user:*'] };
    const created = await post('policies', policy);
    expect(created).toMatchObject({ status: 201, body: { onBehalfOf: ['user:*'], warnings: [] } });
    expect((await post('policies', policy)).status).toBe(200);
    const nobody = await post('policies', { ...policy, version: '2', onBehalfOf: [] });
    expect(faults(nobody)).toEqual({ onBehalfOf: 'must be an array of 1 to 50 strings' });
    const { onBehalfOf: _left, ...rest } = policy;
    const other = await post('policies', rest);
    expect(other).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('onBehalfOf') } } });
    const wrong = ['kind:human', 'role:*', 'principal', 'principal:x', 'user:', 'us*:x', 'user:x*', '**'];
    const refused = await post('policies', { ...policy, version: '2', onBehalfOf: wrong });
    expect(Object.keys(faults(refused))).toEqual(wrong.map((_, index) => `onBehalfOf[${index}]`));
    const many = Array.from({ length: 51 }, (_, index) => `user:${index}`);
    expect((await post('policies', { ...policy, version: '2', onBehalfOf: many })).status).toBe(400);
    expect((await createPolicy(stage.app)).onBehalfOf).toBeNull();
  });

  it.each(['allow', 'require_approval'])('what GET says of an %s can be posted as a new version', async (effect) => {
    const { id } = await createPolicy(stage.app, { name: `again-${effect}`, effect });
    const { body } = await send(stage.app, 'GET', `/api/v1/policies/${id}`);
    const { id: _id, status: _status, warnings: _warnings, createdAt: _createdAt, ...members } = body;
    const again = await post('policies', { ...members, version: '2.0' });
    expect(again).toMatchObject({ status: 201, body: { ...members, version: '2.0', onBehalfOf: null } });
    const { data } = (await send(stage.app, 'GET', `/api/v1/audit?subjectId=${id}`)).body;
    const sealed = await send(stage.app, 'GET', `/api/v1/provenance/${data[0].sequence}`);
    expect(sealed.body.state).not.toHaveProperty('onBehalfOf');
  });

  it('a plan takes them as open, and sees nothing shadowed by them', async () => {
    const deny = { name: 'deny', version: '1', effect: 'deny', ...LISTS, priority: 5, onBehalfOf: ['user:*'] };
    const allow = { name: 'allow', version: '1', effect: 'allow', ...LISTS };
    const tests = [
      { agent: 'bot', ...ACTION, expect: 'deny' },
      { agent: 'bot', ...ACTION, onBehalfOf: ANN, expect: 'allow', by: 'allow' },
    ];
    const { body } = await post('policies/plan', { policies: [deny, allow], tests });
    // A test does nothing on anybody's behalf, so whoever may plan may ask it.
    const { secret: key } = await issueKey(stage.app, { scopes: ['read'], agentId: 'bot' });
    const plan = { policies: [deny, allow], tests };
    expect((await send(stage.app, 'POST', '/api/v1/policies/plan', { key, body: plan })).body).toEqual(body);
    expect(body).toMatchObject({ complete: true, shadowed: [], tests: { passed: 2, failed: [] } });
    expect(body.effects.length).toBeGreaterThan(0);
    for (const { to, when } of body.effects)
      expect(when).toEqual(
        to.effect === 'deny'
          ? { hold: [{ name: 'deny', version: '1' }], fail: [] }
          : { hold: [], fail: [{ name: 'deny', version: '1' }] },
      );
  });

  it('a limit of what is allowed on behalf of somebody is exact', async () => {
    await createPolicy(stage.app, { onBehalfOf: ['user:*'], limits: [{ max: 2, per: 'day', by: 'policy' }] });
    const results = [];
    for (let turn = 0; turn < 3; turn += 1) results.push(await effectFor(USER));
    expect(results).toEqual(['allow', 'allow', 'deny']);
    const refused = await post('agents/bot/execute', { ...ACTION, onBehalfOf: USER });
    expect(refused.body.error.reason).toBe('limit_reached');
    expect((await post('agents/bot/execute', ACTION)).body.error.reason).toBe('no_policy_allows');
  });

  it('a replay evaluates for the principal of then', async () => {
    await createPolicy(stage.app);
    const from = new Date().toISOString();
    await post('agents/bot/execute', { ...ACTION, onBehalfOf: ANN });
    const { id } = (await post('agents/bot/execute', { ...ACTION, onBehalfOf: USER })).body;
    const policies = [{ name: 'persons', version: '1', effect: 'allow', ...LISTS, onBehalfOf: ['role:finance'] }];
    const { replay } = (await post('policies/plan', { policies, prune: true, replay: { from } })).body;
    expect(replay).toMatchObject({
      executions: 2,
      changed: 1,
      examples: [{ executionId: id, was: 'allow', now: 'deny' }],
    });
  });
});
