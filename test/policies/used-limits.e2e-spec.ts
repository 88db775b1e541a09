import type { AuditEntryResponse } from '../../src/evidence/audit/dto/audit-entry.response';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { actionsOf, auditOf, chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';
import { ZONES_VERSION } from '../../src/core/values/time-zone';
import { PassedSums } from '../../src/governance/policies/limits/passed-sums';
import { Database } from '../../src/ledger/database/database';
import { temporaryDatabase } from '../support/database/temporary-database';
import { moveTime, restoreTime } from '../support/database/moved-time';

const SPEND = { subjects: ['role:buyer'], actions: ['pay'], resources: ['*'] };
const DAILY = { max: 1_000, of: '/amount', per: 'day', by: 'agent' };

describe('Policies with limits', () => {
  let app: TestApp;
  let agents = 0;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
  });
  afterEach(() => restoreTime());
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  /** Each test has its own agents and role. */
  async function buyer(role: string): Promise<{ id: string; name: string }> {
    agents += 1;
    return createAgent(app, { name: `buyer-${agents}`, capabilities: ['pay', 'order'], roles: [role] });
  }

  const pay = (name: string, amount: unknown, more: { action?: string; key?: string } = {}): Promise<Answer> => {
    const { action = 'pay', key } = more;
    const body = { action, resourceType: 'invoice', resourceId: 'i', parameters: { amount } };
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    return send(app, 'POST', `/api/v1/agents/${name}/execute`, { body, headers });
  };

  const firstEntry = async (id: string): Promise<AuditEntryResponse> => {
    const [entry] = await auditOf(app, id);
    if (entry === undefined) throw new Error(`Nothing was recorded about ${id}.`);
    return entry;
  };

  const lastOf = async (agentId: string): Promise<AuditEntryResponse> => {
    const { body } = await send(app, 'GET', `/api/v1/audit?agentId=${agentId}&limit=1`);
    return body.data[0];
  };

  it('allow until the amounts of a window are used up, exactly, and then refuse', async () => {
    const { id, name } = await buyer('exact');
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:exact'], limits: [{ ...DAILY, max: 1 }] });
    for (let times = 0; times < 10; times += 1) expect((await pay(name, 0.1)).status).toBe(200);
    const refused = await pay(name, 0.1);
    expect(refused.status).toBe(403);
    expect(refused.body.error).toMatchObject({
      reason: 'limit_reached',
      message: expect.stringMatching(
        /^The limit \[0\] of the policy .* leaves no 0\.1: 1 of 1 are used until .*T00:00/,
      ),
    });
    const window = expect.stringMatching(/T00:00:00\.000Z$/);
    expect((await lastOf(id)).details).toMatchObject({
      limited: [{ policyId: policy.id, limit: 0, window, key: id, before: '1', amount: '0.1' }],
    });
    expect((await lastOf(id)).details).not.toHaveProperty('used');
    // Nothing still fits.
    expect((await pay(name, 0)).status).toBe(200);
  });

  it.each([undefined, null, '5', -1, 1e300, [1]])('refuse the amount %j', async (amount) => {
    const { id, name } = await buyer('amounts');
    await createPolicy(app, {
      ...SPEND,
      name: 'amounts',
      version: `1.${agents}`,
      subjects: ['role:amounts'],
      limits: [DAILY],
    });
    expect((await pay(name, amount)).body.error.reason).toBe('limit_reached');
    expect((await lastOf(id)).details).toMatchObject({ limited: [{ before: '0', amount: null }] });
  });

  it('count each execution without a pointer, for an agent or for all', async () => {
    const [one, other] = [await buyer('each'), await buyer('each')];
    const limits = [
      { max: 2, per: 'hour', by: 'agent' },
      { max: 3, per: 'month', by: 'policy' },
    ];
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:each'], limits });
    const statuses = [];
    for (const { name } of [one, one, one, other, other]) statuses.push((await pay(name, 1)).status);
    expect(statuses).toEqual([200, 200, 403, 200, 403]);
    expect((await lastOf(other.id)).details).toMatchObject({
      limited: [{ policyId: policy.id, limit: 1, key: null, before: '3', amount: '1' }],
    });
    const third = await send(app, 'GET', `/api/v1/audit?agentId=${other.id}&action=execution.authorized`);
    expect(third.body.data[0].details).toMatchObject({
      used: [
        { policyId: policy.id, limit: 0, key: other.id, before: '0', amount: '1' },
        { policyId: policy.id, limit: 1, key: null, before: '2', amount: '1' },
      ],
    });
  });

  it('leave what exceeds them to a policy of lower priority that requires an approval', async () => {
    const { id, name } = await buyer('approved');
    const subjects = ['role:approved'];
    await createPolicy(app, { ...SPEND, subjects, priority: 10, limits: [DAILY] });
    await createPolicy(app, { ...SPEND, subjects, effect: 'require_approval' });
    expect((await pay(name, 900)).status).toBe(200);
    const answer = await pay(name, 200);
    expect(answer.status).toBe(202);
    expect((await firstEntry(answer.body.id)).details).toMatchObject({ limited: [{ before: '900', amount: '200' }] });
    const ann = (await send(app, 'GET', '/api/v1/agents/ann')).body.id;
    await send(app, 'POST', `/api/v1/decisions/${answer.body.decisionId}/approve`, { body: { approverId: ann } });
    const resumed = await send(app, 'POST', `/api/v1/executions/${answer.body.id}/resume`);
    expect(resumed.body.outcome).toBe('authorized');
    // An approved execution does not count.
    expect((await lastOf(id)).details).not.toHaveProperty('used');
    expect((await pay(name, 100)).status).toBe(200);
  });

  it('cancel what waits for the approval of an action that they allow', async () => {
    const { id, name } = await buyer('waiting');
    const subjects = ['role:waiting'];
    const require = { ...SPEND, subjects, effect: 'require_approval' };
    await createPolicy(app, require);
    const answer = await pay(name, 7);
    expect(answer.status).toBe(202);
    const limited = await createPolicy(app, { ...SPEND, subjects, priority: 10, limits: [DAILY] });
    expect((await pay(name, 7)).body.outcome).toBe('authorized');
    const [execution, decision] = [answer.body.id, answer.body.decisionId];
    expect(await actionsOf(app, execution)).toEqual(['execution.approval_requested', 'execution.cancelled']);
    expect(await actionsOf(app, decision)).toEqual(['decision.proposed', 'decision.cancelled']);
    // Approved, but not taken up.
    await send(app, 'POST', `/api/v1/policies/${limited.id}/deactivate`);
    const again = await pay(name, 8);
    const ann = (await send(app, 'GET', '/api/v1/agents/ann')).body.id;
    const approve = (decisionId: string): Promise<Answer> =>
      send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: ann } });
    await approve(again.body.decisionId);
    await send(app, 'POST', `/api/v1/policies/${limited.id}/activate`);
    expect((await pay(name, 8)).body.outcome).toBe('authorized');
    expect((await actionsOf(app, again.body.id)).at(-1)).toBe('execution.cancelled');
    expect((await send(app, 'GET', `/api/v1/decisions/${again.body.decisionId}`)).body.status).toBe('approved');
    // A resume that policies allow by now takes from the limit, too.
    await send(app, 'POST', `/api/v1/policies/${limited.id}/deactivate`);
    const third = await pay(name, 9);
    await approve(third.body.decisionId);
    await send(app, 'POST', `/api/v1/policies/${limited.id}/activate`);
    const resumed = await send(app, 'POST', `/api/v1/executions/${third.body.id}/resume`);
    expect(resumed.body).toMatchObject({ outcome: 'authorized', policies: [{ id: limited.id }] });
    expect((await lastOf(id)).details).toMatchObject({ used: [{ before: '15', amount: '9' }] });
  });

  it('count a request with an Idempotency-Key once, and answer it again after they are used up', async () => {
    const { name } = await buyer('replays');
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:replays'], limits: [{ ...DAILY, max: 10 }] });
    const first = await pay(name, 6, { key: `limit-${name}` });
    expect((await pay(name, 4)).status).toBe(200);
    const replayed = await pay(name, 6, { key: `limit-${name}` });
    expect(replayed.status).toBe(200);
    expect(replayed.body).toEqual(first.body);
    expect((await pay(name, 1)).status).toBe(403);
    await send(app, 'POST', `/api/v1/policies/${policy.id}/deactivate`);
    expect((await pay(name, 6, { key: `limit-${name}` })).body.error.reason).toBe('no_policy_allows');
  });

  it('say nothing of a repeated resume that took nothing from them: its approval has to hold', async () => {
    const { name } = await buyer('asks');
    const { id: annId } = (await send(app, 'GET', '/api/v1/agents/ann')).body;
    const rules = { ...SPEND, subjects: ['role:asks'] };
    await createPolicy(app, { ...rules, limits: [DAILY], priority: 1 });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { ...rules, effect: 'require_approval', approval });
    const { id, decisionId } = (await pay(name, 5_000)).body;
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: annId } });
    const headers = { 'Idempotency-Key': `resume-${id}` };
    const resume = (): Promise<Answer> => send(app, 'POST', `/api/v1/executions/${id}/resume`, { headers });
    const first = await resume();
    expect((await resume()).body).toEqual(first.body);
    await send(app, 'POST', `/api/v1/agents/${annId}/suspend`);
    expect((await resume()).body.error.reason).toBe('approval_insufficient');
    await send(app, 'POST', `/api/v1/agents/${annId}/resume`);
    expect((await resume()).body).toEqual(first.body);
  });

  it('go on counting in a new version, each limit by itself, and begin anew in the next window', async () => {
    const { name } = await buyer('versions');
    const rules = { ...SPEND, name: 'versions', subjects: ['role:versions'] };
    await createPolicy(app, { ...rules, version: '1', limits: [DAILY] });
    expect((await pay(name, 1_000)).status).toBe(200);
    await createPolicy(app, { ...rules, version: '2', limits: [{ ...DAILY, max: 1_200 }] });
    expect((await pay(name, 201)).status).toBe(403);
    expect((await pay(name, 200)).status).toBe(200);
    await createPolicy(app, { ...rules, version: '3', limits: [{ ...DAILY, max: 5, by: 'policy' }] });
    expect((await pay(name, 5)).status).toBe(200);
    expect((await pay(name, 1)).status).toBe(403);
    await moveTime(86_400_000);
    expect((await pay(name, 5)).status).toBe(200);
  });

  it('warn when 80 % are used, once', async () => {
    const { id, name } = await buyer('warned');
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:warned'], limits: [DAILY] });
    const warnings = async (): Promise<AuditEntryResponse[]> =>
      (await auditOf(app, policy.id)).filter(({ action }) => action === 'policy.limit_warned');
    await pay(name, 799.99);
    expect(await warnings()).toEqual([]);
    const { body } = await pay(name, 0.01);
    await pay(name, 200);
    const [warned, ...others] = await warnings();
    expect(others).toEqual([]);
    expect(warned).toMatchObject({ agentId: id, subjectType: 'policy', outcome: 'success' });
    expect(warned?.details).toEqual({
      ...{ policyId: policy.id, limit: 0, window: expect.any(String), key: id, before: '799.99', amount: '0.01' },
    });
    expect((await firstEntry(body.id)).sequence).toBe((warned?.sequence ?? 0) - 1);
  });

  it('count every policy that decides, also beyond the ten that are shown', async () => {
    const { id, name } = await buyer('many');
    const rules = { ...SPEND, subjects: ['role:many'] };
    for (let made = 0; made < 10; made += 1) await createPolicy(app, rules);
    const last = await createPolicy(app, { ...rules, limits: [DAILY] });
    const { body } = await pay(name, 5);
    expect(body.policies).toHaveLength(10);
    expect((await lastOf(id)).details).toMatchObject({ used: [{ policyId: last.id, before: '0', amount: '5' }] });
  });

  it('are evaluated by what is used now, and nothing is taken by asking', async () => {
    const { id, name } = await buyer('asking');
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:asking'], limits: [DAILY] });
    await createPolicy(app, { ...SPEND, subjects: ['role:asking'], effect: 'require_approval', priority: -1 });
    await pay(name, 900);
    const question = { agent: name, action: 'pay', resourceType: 'invoice', resourceId: 'i' };
    const evaluate = async (parameters: object, more = {}): Promise<Answer['body']> => {
      const body = { ...question, parameters, explain: true, ...more };
      return (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body;
    };
    for (let times = 0; times < 3; times += 1) expect((await evaluate({ amount: 100 })).effect).toBe('allow');
    const over = await evaluate({ amount: 100.5 });
    expect(over).toMatchObject({ effect: 'require_approval', explanation: { bestEffect: 'allow' } });
    const nearest = over.explanation.nearest.map((near: { policy: { id: string } }) => near.policy.id);
    expect(nearest).not.toContain(policy.id);
    const { id: policyId, version } = policy;
    const limitUse = { policy: { id: policyId, name: policy.name, version }, limit: 0, max: '1000', used: '900' };
    expect(over.explanation.limits).toEqual([
      { ...limitUse, asked: '100.5', resetsAt: expect.stringMatching(/T00:00:00/) },
    ]);
    expect((await evaluate({})).explanation.limits).toMatchObject([{ asked: null }]);
    // As the ledger was, no limit counts as reached.
    const head = (await lastOf(id)).sequence;
    const past = await evaluate({ amount: 2_000 }, { asOf: head });
    expect(past).toMatchObject({ effect: 'allow', explanation: { limits: [] } });
    const open = await send(app, 'POST', '/api/v1/policies/evaluate', {
      body: { ...question, parameters: { amount: 2_000 }, open: true, requests: [{}] },
    });
    expect(open.body.results[0].effect).toBe('allow');
    const evaluation = {
      subject: { type: 'agent', id: name },
      action: { name: 'pay', properties: { amount: 101 } },
      resource: { type: 'invoice', id: 'i' },
    };
    const decided = await send(app, 'POST', '/access/v1/evaluation', { body: evaluation });
    expect(decided.body).toMatchObject({ decision: false, context: { reason: 'approval_required' } });
    // Subjects that are no registered agents are not matched.
    const subject = { roles: ['asking'] };
    expect((await evaluate({ amount: 1 }, { agent: undefined, subject })).effect).toBe('require_approval');
    expect((await pay(name, 100)).status).toBe(200);
  });

  it('decide nothing about reviews', async () => {
    const { name } = await buyer('reviews');
    await createPolicy(app, { ...SPEND, subjects: ['role:reviews'], actions: ['pay', 'decision:*'], limits: [DAILY] });
    expect((await pay(name, 1)).status).toBe(200);
  });

  it('show what is used of them, the fullest first', async () => {
    const [one, other, idle] = [await buyer('shown'), await buyer('shown'), await buyer('shown')];
    const limits = [DAILY, { max: 50, per: 'month', by: 'policy' }];
    const { id } = await createPolicy(app, { ...SPEND, subjects: ['role:shown'], limits });
    const usage = async (query = ''): Promise<Answer['body']> =>
      (await send(app, 'GET', `/api/v1/policies/${id}/usage${query}`)).body;
    expect(await usage()).toEqual({ data: [], total: 0 });
    for (const { name } of [one, other, other]) await pay(name, 100.5);
    await pay(idle.name, 0);
    const { data, total } = await usage();
    const resetsAt = expect.stringMatching(/T00:00:00\.000Z$/);
    expect({ data, total }).toEqual({
      total: 3,
      data: [
        { limit: 0, key: other.id, used: '201', max: '1000', resetsAt },
        { limit: 0, key: one.id, used: '100.5', max: '1000', resetsAt },
        { limit: 1, key: null, used: '4', max: '50', resetsAt },
      ],
    });
    expect(await usage('?limit=1&offset=1')).toEqual({ data: [data[1]], total: 3 });
    const none = await createPolicy(app, { effect: 'deny', subjects: ['nobody'] });
    expect((await send(app, 'GET', `/api/v1/policies/${none.id}/usage`)).body).toEqual({ data: [], total: 0 });
    expect((await send(app, 'GET', '/api/v1/policies/pol_x/usage')).status).toBe(404);
  });

  it('are opaque to a plan, and match no subject that is not registered', async () => {
    const policies = [
      { name: 'planned', version: '1', effect: 'allow', ...SPEND, priority: 3, limits: [DAILY] },
      { name: 'below', version: '1', effect: 'allow', ...SPEND, priority: 2 },
    ];
    const test = { subject: { roles: ['buyer'] }, action: 'pay', resourceType: 'invoice', resourceId: 'i' };
    const tests = [{ ...test, expect: 'allow', by: 'below' }];
    const { body } = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies, tests } });
    const shadowing = body.shadowed.map(({ by }: { by: { name: string } }) => by.name);
    expect(shadowing).not.toContain('planned');
    expect(body.tests).toMatchObject({ passed: 1, failed: [] });
  });

  it('keep what an erased execution has taken', async () => {
    const apart = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(apart, { name: 'bot', capabilities: ['pay'] });
    await createPolicy(apart, { actions: ['pay'], limits: [DAILY] });
    const body = { action: 'pay', resourceType: 'invoice', resourceId: 'i', parameters: { amount: 5 } };
    const { id } = (await send(apart, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    const subjects = [{ type: 'execution', id }];
    await send(apart, 'POST', '/api/v1/erasures', { body: { subjects, reason: 'asked for' } });
    const erased = (await auditOf(apart, id)).find(({ action }) => action === 'execution.erased');
    expect(erased?.details).toMatchObject({ used: [{ before: '0', amount: '5' }] });
    await chainIsValid(apart);
    await apart.close();
  });

  it('are kept in sums that verification checks, and a start adds up where they are missing', async () => {
    const database = await temporaryDatabase();
    const first = await createTestApp({ environment: database.environment });
    await createAgent(first, { name: 'bot', capabilities: ['pay'] });
    await createPolicy(first, { actions: ['pay'], limits: [{ ...DAILY, max: 10 }] });
    const request = { action: 'pay', resourceType: 'invoice', resourceId: 'i', parameters: { amount: 6 } };
    const payAt = (one: TestApp): Promise<Answer> => send(one, 'POST', '/api/v1/agents/bot/execute', { body: request });
    expect((await payAt(first)).status).toBe(200);
    const foreign = await foreignConnection(first);
    await foreign.run(`UPDATE "ledger_sums" SET "value" = '1'`);
    const { body } = await send(first, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body.firstInvalidDerived).toEqual([{ data: 'sum', name: expect.stringContaining('/amount') }]);
    await foreign.run(`DELETE FROM "ledger_sums"`);
    await foreign.close();
    await first.close();
    const second = await createTestApp({ environment: database.environment });
    await chainIsValid(second);
    expect((await payAt(second)).body.error.reason).toBe('limit_reached');
    await second.close();
    await database.remove();
  });

  it('name the field that is wrong', async () => {
    const limitFaults = async (limits: unknown, more = {}): Promise<unknown> => {
      const rules = { name: `wrong ${Math.random()}`, version: '1', effect: 'allow', ...SPEND, limits, ...more };
      return faults(await send(app, 'POST', '/api/v1/policies', { body: rules }));
    };
    for (const max of [-1, '5', 1e21, 1234567890123456, null])
      expect(await limitFaults([{ ...DAILY, max }])).toMatchObject({ 'limits[0].max': expect.any(String) });
    expect(await limitFaults([{ ...DAILY, of: 'amount' }])).toMatchObject({
      'limits[0].of': expect.stringContaining('"/"'),
    });
    expect(await limitFaults([{ ...DAILY, of: '/items/*' }])).toMatchObject({ 'limits[0].of': expect.any(String) });
    expect(await limitFaults([{ ...DAILY, per: 'year', by: 'role' }])).toMatchObject({
      'limits[0].per': expect.stringContaining('hour, day, week, month'),
      'limits[0].by': expect.stringContaining('agent, policy'),
    });
    expect(await limitFaults([DAILY, { ...DAILY, max: 1 }])).toMatchObject({
      'limits[1]': expect.stringContaining('limits[0]'),
    });
    expect(await limitFaults(Array.from({ length: 6 }, () => DAILY))).toMatchObject({
      limits: expect.stringContaining('5'),
    });
    expect(await limitFaults([DAILY], { effect: 'deny' })).toMatchObject({ limits: expect.stringContaining('allow') });
    expect(await limitFaults([{ ...DAILY, extra: 1 }])).toMatchObject({ 'limits[0].extra': expect.any(String) });
  });

  it('are at most 100 in force', async () => {
    const crowded = await createTestApp();
    const rules = (index: number): object => ({ name: `p${index}`, limits: [DAILY] });
    for (let made = 0; made < 100; made += 1) await createPolicy(crowded, { ...rules(made) });
    const body = { ...SPEND, effect: 'allow', version: '1', ...rules(100) };
    const refused = await send(crowded, 'POST', '/api/v1/policies', { body });
    expect(refused.status).toBe(409);
    expect(refused.body.error.message).toContain('101 policies with limits');
    const next = await send(crowded, 'POST', '/api/v1/policies', { body: { ...body, ...rules(0), version: '2' } });
    expect(next.status).toBe(201);
    await crowded.close();
  });

  it('count equal requests of an agent, without a warning, and forget them once the window is over', async () => {
    const { id, name } = await buyer('loop');
    const other = await buyer('loop');
    const limits = [{ max: 2, per: 'hour', by: 'request' }];
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:loop'], limits });
    expect((await pay(name, 1)).status).toBe(200);
    const question = {
      agent: name,
      action: 'pay',
      resourceType: 'invoice',
      resourceId: 'i',
      parameters: { amount: 1 },
    };
    const answer = async (): Promise<unknown> =>
      (await send(app, 'POST', '/api/v1/policies/evaluate', { body: question })).body.effect;
    expect(await answer()).toBe('allow');
    expect((await pay(name, 1)).status).toBe(200);
    expect(await answer()).toBe('deny');
    const refused = await pay(name, 1);
    expect(refused.body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'limit_reached' });
    expect([(await pay(name, 2)).status, (await pay(other.name, 1)).status]).toEqual([200, 200]);
    expect(await actionsOf(app, policy.id)).not.toContain('policy.limit_warned');
    const usage = (await send(app, 'GET', `/api/v1/policies/${policy.id}/usage`)).body;
    expect(usage.total).toBe(3);
    expect(usage.data[0]).toMatchObject({ limit: 0, used: '2', max: '2', key: expect.stringMatching(/^[\w-]{43}$/) });
    expect((await lastOf(id)).details).not.toHaveProperty('zones');

    const rows = (): Promise<unknown[]> =>
      app.application.get(Database).points.all(`SELECT "key" FROM "ledger_sums" WHERE "sum" LIKE '%"request"%'`);
    const passed = app.application.get(PassedSums);
    await passed.removePassed();
    expect(await rows()).toHaveLength(3);
    await moveTime(3 * 86_400_000);
    expect((await pay(name, 1)).status).toBe(200);
    await passed.removePassed();
    expect(await rows()).toHaveLength(1);
    await chainIsValid(app);
    // Sums that are left over have no effect, and their absence is no fault.
    await moveTime(4 * 86_400_000);
    expect((await pay(name, 1)).status).toBe(200);
    await chainIsValid(app);
  });

  it('begin their windows in a zone, which the entry names', async () => {
    const { name } = await buyer('zone');
    const limits = [
      { max: 10, of: '/amount', per: 'day', by: 'agent', zone: 'Pacific/Kiritimati' },
      { max: 20, of: '/amount', per: 'day', by: 'agent', zone: 'utc' },
    ];
    const policy = await createPolicy(app, { ...SPEND, subjects: ['role:zone'], limits });
    const [zoned, plain] = limits;
    expect(policy.limits).toEqual([zoned, { ...plain, zone: undefined }]);
    const paid = await pay(name, 4);
    expect((await firstEntry(paid.body.id)).details).toMatchObject({
      zones: ZONES_VERSION,
      used: [
        { window: expect.stringMatching(/T10:00:00\.000Z$/) },
        { window: expect.stringMatching(/T00:00:00\.000Z$/) },
      ],
    });
    const usage = (await send(app, 'GET', `/api/v1/policies/${policy.id}/usage`)).body.data;
    expect(usage).toEqual([
      { limit: 0, key: expect.any(String), used: '4', max: '10', resetsAt: expect.stringMatching(/T10:00:00\.000Z$/) },
      { limit: 1, key: expect.any(String), used: '4', max: '20', resetsAt: expect.stringMatching(/T00:00:00\.000Z$/) },
    ]);
    expect((await pay(name, 7)).body.error.reason).toBe('limit_reached');
  });

  it.each<[limit: object, member: string, message: RegExp]>([
    [{ per: 'day', by: 'agent', zone: 'Europe/Atlantis' }, 'zone', /IANA time zone/],
    [{ per: 'day', by: 'agent', zone: '+02:00' }, 'zone', /IANA time zone/],
    [{ per: 'hour', by: 'agent', zone: 'Europe/Berlin' }, 'zone', /not allowed per hour/],
    [{ per: 'hour', by: 'request', of: '/amount' }, 'of', /not allowed by request/],
  ])('are refused: %j', async (limit, member, message) => {
    const body = { ...SPEND, name: 'p', version: '1', effect: 'allow', limits: [{ max: 1, ...limit }] };
    const answer = await send(app, 'POST', '/api/v1/policies', { body });
    expect([answer.status, faults(answer)]).toEqual([400, { [`limits[0].${member}`]: expect.stringMatching(message) }]);
  });
});
