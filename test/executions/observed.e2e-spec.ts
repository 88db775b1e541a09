import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';

const DAY = 24 * 60 * 60 * 1000;

describe('An observed agent', () => {
  let app: TestApp;
  let bot: Parsed;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    bot = await createAgent(app, { name: 'bot', capabilities: ['read', 'write', 'pay'] });
    await createPolicy(app, { name: 'no-secrets', effect: 'deny', resources: ['secrets/*'] });
    await createPolicy(app, {
      ...{ name: 'pay-asks', effect: 'require_approval', actions: ['pay'] },
      approval: { approvers: [{ subjects: ['*'] }] },
    });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const inDays = (days: number): string => new Date(Date.now() + days * DAY).toISOString();
  const observe = (observeUntil: unknown, agent: string = bot.id, key?: string): Promise<Answer> =>
    send(app, 'PATCH', `/api/v1/agents/${agent}`, { body: { observeUntil }, ...(key !== undefined && { key }) });
  const requestBody = (action: string, resourceId: string): object => ({
    ...{ action, resourceType: 'doc', resourceId },
    parameters: {},
  });
  const execute = (action: string, resourceId: string): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: requestBody(action, resourceId) });
  const evaluate = async (action: string, resourceId: string, more: object = {}): Promise<Parsed> => {
    const body = { agent: 'bot', ...requestBody(action, resourceId), ...more };
    return (await send(app, 'POST', '/api/v1/policies/evaluate', { body })).body;
  };
  const authzen = async (name: string, id: string): Promise<Parsed> => {
    const body = { subject: { type: 'agent', id: 'bot' }, action: { name }, resource: { type: 'doc', id } };
    return (await send(app, 'POST', '/access/v1/evaluation', { body })).body;
  };

  it('may do what no policy allows, and it is noted wherever it is answered', async () => {
    expect((await execute('read', 'open')).body.error.reason).toBe('no_policy_allows');
    const until = inDays(29);
    expect((await observe(until)).body).toMatchObject({ observeUntil: until, revision: 2 });
    const { status, body } = await execute('read', 'open');
    expect([status, body.outcome, body.observed, body.policies]).toEqual([200, 'authorized', true, []]);
    expect((await send(app, 'GET', `/api/v1/executions/${body.id}`)).body).toMatchObject({ observed: true });
    expect((await auditOf(app, body.id)).map(({ details }) => details?.['observed'])).toEqual([true]);
    expect(await evaluate('read', 'open')).toMatchObject({ effect: 'allow', reason: null, observed: true });
    expect(await evaluate('read', 'open', { explain: true })).toMatchObject({ explanation: { bestEffect: 'allow' } });
    expect(await authzen('read', 'open')).toMatchObject({ decision: true, context: { reason: null, observed: true } });
    const requests = [{ agent: 'bot', ...requestBody('write', 'open') }];
    const { results } = (await send(app, 'POST', '/api/v1/policies/evaluate', { body: { requests, open: true } })).body;
    expect(results[0].effect).toBe('allow');
  });

  it.each([
    ['a deny', 'read', 'secrets/1', 'policy_denied'],
    ['a missing capability', 'delete', 'open', 'capability_missing'],
  ])('is refused by %s', async (_what, action, resourceId, reason) => {
    const { status, body } = await execute(action, resourceId);
    expect([status, body.error.reason]).toEqual([403, reason]);
    expect(await evaluate(action, resourceId)).toMatchObject({ effect: 'deny', reason });
  });

  it('asks where an approval is required, and needs it', async () => {
    const { status, body } = await execute('pay', 'open');
    expect([status, body.outcome, body]).toEqual([
      202,
      'pending_approval',
      expect.not.objectContaining({ observed: true }),
    ]);
  });

  it.each([
    ['a stop', 'stops', {}],
    ['its suspension', 'agents/bot/suspend', { reason: 'x' }],
  ])('is refused by %s', async (_what, path, more) => {
    const { id } = (await send(app, 'POST', `/api/v1/${path}`, { body: { reason: 'x', ...more } })).body;
    expect((await execute('read', 'open')).status).toBe(403);
    const end = path === 'stops' ? `stops/${id}/lift` : 'agents/bot/resume';
    expect((await send(app, 'POST', `/api/v1/${end}`, { body: { reason: 'x' } })).status).toBe(200);
    expect((await execute('read', 'open')).body.observed).toBe(true);
  });

  it('takes up an approval that no policy asks for any more as observed', async () => {
    const { body: pending } = await execute('pay', 'later');
    await createAgent(app, { name: 'ann', kind: 'human' });
    await send(app, 'POST', `/api/v1/decisions/${pending.decisionId}/approve`, { body: { approverId: 'ann' } });
    const { data } = (await send(app, 'GET', '/api/v1/policies?status=active')).body;
    const { id } = data.find(({ name }: Parsed) => name === 'pay-asks');
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`, { body: {} });
    const { status, body } = await send(app, 'POST', `/api/v1/executions/${pending.id}/resume`, { body: {} });
    expect([status, body.outcome, body.observed]).toEqual([200, 'authorized', true]);
  });

  it('is answered anew once what policies allowed is only observed', async () => {
    const { id } = await createPolicy(app, { name: 'write-once', actions: ['write'], resources: ['once'] });
    const headers = { 'Idempotency-Key': 'once' };
    const repeat = (): Promise<Answer> =>
      send(app, 'POST', '/api/v1/agents/bot/execute', { body: requestBody('write', 'once'), headers });
    const first = (await repeat()).body;
    expect([first.observed, (await repeat()).body.id]).toEqual([undefined, first.id]);
    await send(app, 'POST', `/api/v1/policies/${id}/deactivate`, { body: {} });
    const { body } = await repeat();
    expect([body.outcome, body.observed, body.id === first.id]).toEqual(['authorized', true, false]);
  });

  it('may no longer, once it ends', async () => {
    const headers = { 'Idempotency-Key': 'observed' };
    const repeat = (): Promise<Answer> =>
      send(app, 'POST', '/api/v1/agents/bot/execute', { body: requestBody('read', 'again'), headers });
    expect((await repeat()).body.observed).toBe(true);
    expect((await observe(null)).body.observeUntil).toBeNull();
    expect((await repeat()).body.error.reason).toBe('no_policy_allows');
    await observe(new Date(Date.now() + 1_500).toISOString());
    expect((await execute('read', 'open')).body.observed).toBe(true);
    while ((await execute('read', 'open')).status === 200);
    expect((await execute('read', 'open')).body.error.reason).toBe('no_policy_allows');
    expect(await evaluate('read', 'open')).toMatchObject({ effect: 'deny', reason: 'no_policy_allows' });
  });

  it.each([
    ['more than 30 days ahead', () => inDays(31)],
    ['in the past', () => inDays(-1)],
    ['no time', () => 'tomorrow'],
    ['a number', () => 7],
  ])('cannot be observed until %s', async (_what, until) => {
    const answer = await observe(until());
    expect([answer.status, Object.keys(faults(answer))]).toEqual([400, ['observeUntil']]);
  });

  it('is a machine, and an admin says so', async () => {
    const { id } = await createAgent(app, { name: 'bob', kind: 'human' });
    expect((await observe(inDays(1), id)).status).toBe(400);
    const { secret } = await issueKey(app, { scopes: ['agents'] });
    const refused = await observe(inDays(1), bot.id, secret);
    expect([refused.status, refused.body.error.reason]).toEqual([403, 'scope_missing']);
  });
});
