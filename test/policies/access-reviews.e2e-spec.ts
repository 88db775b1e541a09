import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';

const APPROVERS = [{ subjects: ['role:finance'], approvals: 2 }];

describe('What an agent may do', () => {
  let app: TestApp;
  let bot: Parsed;
  let ann: Parsed;
  const keys: Record<string, string> = {};

  beforeEach(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    bot = await createAgent(app, { name: 'bot', capabilities: ['pay', 'send-*'], roles: ['desk'] });
    ann = await createAgent(app, { name: 'ann', kind: 'human', capabilities: ['pay'] });
    const ben = await createAgent(app, { name: 'ben', kind: 'human' });
    for (const { id, name } of [bot, ann, ben])
      keys[name] = (await issueKey(app, { scopes: ['review'], agentId: id })).secret;
    keys['unbound'] = (await issueKey(app, { scopes: ['review'] })).secret;
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const get = (path: string): Promise<Answer> => send(app, 'GET', `/api/v1/${path}`);
  const access = async (query = '', agent = 'bot'): Promise<Parsed> =>
    (await get(`agents/${agent}/access${query}`)).body;
  const head = async (): Promise<number> => (await get('audit?limit=1')).body.data[0].sequence;
  const post = (path: string, body: object, key?: string, headers = {}): Promise<Answer> =>
    send(app, 'POST', `/api/v1/${path}`, { body, headers, ...(key !== undefined && { key }) });
  const review = async (who: string, more: object = {}, headers = {}): Promise<Answer> => {
    const { rules, revision } = await access();
    return post('agents/bot/access/review', { rules, revision, ...more }, keys[who], headers);
  };
  const unreviewed = async (): Promise<string[]> =>
    (await get('access-reviews')).body.data.map(({ name }: { name: string }) => name);
  const allowPay = (more: object = {}): Promise<Parsed> =>
    createPolicy(app, { name: 'may-pay', actions: ['pay', 'refund'], resources: ['invoices/*'], ...more });

  it('is in regions, cut to its capabilities, whose policies have their limits, conditions and approvers', async () => {
    const conditions = [{ parameter: '/amount', op: 'lte', value: 50 }];
    const { id } = await allowPay({
      conditions,
      limits: [{ max: 9, per: 'day', by: 'agent' }],
      onBehalfOf: ['user:*'],
    });
    const approval = { approvers: APPROVERS };
    const asks = { name: 'mails-ask', effect: 'require_approval', actions: ['send-mail', 'send-fax'], approval };
    await createPolicy(app, asks);
    const answer = await access();
    expect(Object.keys(answer).sort()).toEqual(
      ['agentId', 'revision', 'rules', 'complete', 'allowed', 'withApproval', 'stops', 'grants', 'observeUntil']
        .concat(['reviewedBy', 'reviewedAt'])
        .sort(),
    );
    expect(answer).toMatchObject({ agentId: bot.id, revision: 1, complete: true, stops: [], grants: [] });
    expect(answer.rules).toMatch(/^[0-9a-f]{64}$/);
    const names = answer.allowed.map(({ actions }: Parsed) => actions.in);
    expect([...new Set(names.flat())]).toEqual(['pay']);
    expect(answer.allowed[0]).toEqual({
      ...{ to: { effect: 'allow' }, actions: { in: ['pay'], except: [] }, resourceTypes: expect.any(Object) },
      ...{ resources: expect.any(Object), when: { hold: [{ name: 'may-pay', version: '1.0' }], fail: [] } },
      because: {
        to: [
          {
            ...{ id, name: 'may-pay', version: '1.0', conditions, limits: [{ max: 9, per: 'day', by: 'agent' }] },
            ...{ onBehalfOf: ['user:*'], approvers: [] },
          },
        ],
      },
    });
    expect(answer.withApproval).toMatchObject([
      {
        to: { effect: 'require_approval' },
        actions: { in: ['send-fax', 'send-mail'] },
        because: { to: [{ approvers: APPROVERS }] },
      },
    ]);
  });

  it('is nothing for a suspended agent, and lists stops, grants and observation beside', async () => {
    await allowPay();
    await post('agents/bot/suspend', {});
    expect(await access()).toMatchObject({
      ...{ complete: true, reason: 'The agent is suspended.', allowed: [], withApproval: [] },
    });
    await post('agents/bot/resume', {});
    const observeUntil = new Date(Date.now() + 86_400_000).toISOString();
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { observeUntil } });
    await post('stops', { role: 'desk', reason: 'Later.' });
    await post('stops', { role: 'other', reason: 'Not about it.' });
    const approval = { approvers: [{ subjects: ['kind:human'] }], grant: { for: 'PT1H' } };
    await createPolicy(app, { name: 'asks', effect: 'require_approval', actions: ['send-mail'], approval });
    const before = await access();
    expect(before).toMatchObject({ observeUntil, stops: [{ role: 'desk', status: 'active' }], grants: [] });
    expect(before.allowed).not.toEqual([]);
  });

  it('lists active grants, also as of then', async () => {
    const approval = { approvers: [{ subjects: ['kind:human'] }], grant: { for: 'PT1H' } };
    await createPolicy(app, { name: 'asks', effect: 'require_approval', actions: ['send-mail'], approval });
    const requested = { action: 'send-mail', resourceType: 'mail', resourceId: '7' };
    const { decisionId, id } = (await post('agents/bot/execute', requested)).body;
    await post(`decisions/${decisionId}/approve`, { grant: { for: 'PT1H' } }, keys['ann']);
    await post(`executions/${id}/resume`, {});
    const { grants } = await access();
    expect(grants).toMatchObject([{ agentId: bot.id, action: 'send-mail', resourceId: '7' }]);
    const sequence = await head();
    const answer = await access();
    await post(`grants/${grants[0].id}/revoke`, {});
    expect((await access()).grants).toEqual([]);
    expect(await access(`?asOf=${sequence}`)).toEqual(answer);
  });

  it('is answered as of then, also after policies, roles, capabilities and status have changed', async () => {
    const start = await head();
    await allowPay({ subjects: ['role:desk'] });
    await review('ann');
    const [sequence, answer] = [await head(), await access()];
    expect(answer.reviewedBy).toBe(ann.id);
    await createPolicy(app, { name: 'may-pay', version: '2.0', actions: ['send-mail'] });
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { roles: [], capabilities: ['read'] } });
    await review('ben');
    await post('agents/bot/suspend', {});
    expect(await access(`?asOf=${sequence}`)).toEqual(answer);
    expect(await access(`?asOf=${start}`)).toMatchObject({ allowed: [], reviewedBy: null, reviewedAt: null });
    expect((await get('agents/bot/access?asOf=1')).status).toBe(200);
    expect((await get('agents/ann/access?asOf=1')).status).toBe(404);
    expect((await get('agents/nobody/access')).status).toBe(404);
    expect(faults(await get(`agents/bot/access?since=${sequence}&asOf=${start}`))).toEqual({
      'query.since': 'must not be later than asOf',
    });
    for (const name of ['since', 'asOf'])
      expect(faults(await get(`agents/bot/access?${name}=2999-01-01`))).toEqual({
        [`query.${name}`]: 'must not be in the future',
      });
  });

  it('names with since what has come and gone', async () => {
    await allowPay();
    const then = await head();
    expect((await access(`?since=${then}`)).changes).toEqual([]);
    await createPolicy(app, {
      name: 'closed',
      effect: 'deny',
      actions: ['pay'],
      resources: ['invoices/closed/*'],
      priority: 1,
    });
    await createPolicy(app, { name: 'mails', actions: ['send-mail'] });
    const now = await head();
    const brief = (answer: Parsed): unknown[] =>
      answer.changes.map(({ from, to, actions, because, subjects }: Parsed) => {
        expect(subjects).toBeUndefined();
        return [from.effect, to.effect, actions.in, because.from.map(nameOf), because.to.map(nameOf)];
      });
    const changes = brief(await access(`?since=${then}`));
    expect(changes).toContainEqual(['allow', 'deny', ['pay'], ['may-pay'], ['closed']]);
    expect(changes).toContainEqual(['deny', 'allow', ['send-mail'], [], ['mails']]);
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { capabilities: ['pay'] } });
    expect(brief(await access(`?since=${now}`))).toEqual([['allow', 'deny', ['send-mail'], ['mails'], []]]);
    await post('agents/bot/suspend', {});
    const gone = brief(await access(`?since=${now}`));
    expect(gone.every((change) => (change as string[])[1] === 'deny')).toBe(true);
    expect(gone).not.toEqual([]);
    expect(brief(await access(`?since=${then}&asOf=${now}`))).toEqual(changes);
  });

  it('is reviewed by a person, not about their own, and as it is', async () => {
    await allowPay();
    expect(await unreviewed()).toEqual(['ben', 'ann', 'bot']);
    const { rules } = await access();
    expect(await review('unbound')).toMatchObject({ status: 403, body: { error: { reason: 'caller_not_bound' } } });
    expect(await review('bot')).toMatchObject({ status: 403, body: { error: { reason: 'own_agent' } } });
    const machine = await createAgent(app, { name: 'other' });
    keys['other'] = (await issueKey(app, { scopes: ['review'], agentId: machine.id })).secret;
    expect(await review('other')).toMatchObject({ status: 403, body: { error: { reason: 'not_an_approver' } } });
    expect((await review('ann', { revision: 2 })).status).toBe(409);
    expect((await review('ann', { rules: '0'.repeat(64) })).status).toBe(409);
    expect(Object.keys(faults(await review('ann', { rules: 'x', revision: 0 })))).toEqual(['rules', 'revision']);
    expect((await post('agents/nobody/access/review', { rules, revision: 1 }, keys['ann'])).status).toBe(404);
    const { status, body } = await review('ann', {}, { 'Idempotency-Key': 'once' });
    expect([status, body]).toEqual([
      200,
      { agentId: bot.id, revision: 1, rules, reviewedBy: ann.id, reviewedAt: expect.any(String) },
    ]);
    expect((await auditOf(app, bot.id)).at(-1)).toMatchObject({
      ...{ action: 'agent.access_reviewed', agentId: bot.id, outcome: 'success', reason: null },
      details: { rules, revision: 1, reviewedBy: ann.id },
    });
    expect(await access()).toMatchObject({ reviewedBy: ann.id, reviewedAt: body.reviewedAt, revision: 1 });
    expect(await unreviewed()).toEqual(['other', 'ben', 'ann']);
  });

  it('adds nothing if the same person reviews the same within a day', async () => {
    const reviews = async (): Promise<number> =>
      (await auditOf(app, bot.id)).filter(({ action }) => action === 'agent.access_reviewed').length;
    const first = await review('ann');
    expect((await review('ann')).body).toEqual(first.body);
    expect(await reviews()).toBe(1);
    await review('ben');
    await review('ann');
    expect(await reviews()).toBe(3);
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { description: 'Pays.' } });
    expect(await unreviewed()).toContain('bot');
    await review('ann');
    expect([await reviews(), await unreviewed()]).toEqual([4, ['ben', 'ann']]);
    await allowPay();
    expect(await unreviewed()).toEqual(['ben', 'ann', 'bot']);
    expect(await access()).toMatchObject({ reviewedBy: ann.id });
  });
});

describe('What an agent may do by the default effect', () => {
  let app: TestApp;
  beforeAll(async () => (app = await createTestApp({ environment: { POLICY_DEFAULT_EFFECT: 'allow' } })));
  afterAll(() => app.close());

  const regions = async (): Promise<unknown[]> => {
    const { body } = await send(app, 'GET', '/api/v1/agents/bot/access');
    return body.allowed.map(({ to, actions, when, because }: Parsed) => [
      ...[to, actions.in, when.fail.map(nameOf), because.to?.map(nameOf) ?? null],
    ]);
  };

  it('has no policies, and excludes what a limit keeps back', async () => {
    await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    expect(await regions()).toEqual([[{ effect: 'allow' }, ['pay'], [], null]]);
    await createPolicy(app, { name: 'limited', actions: ['pay'], limits: [{ max: 0, per: 'day', by: 'agent' }] });
    expect(await regions()).toEqual([[{ effect: 'allow' }, ['pay'], [], ['limited']]]);
    const requested = { action: 'pay', resourceType: 'x', resourceId: 'y', agent: 'bot' };
    const { body } = await send(app, 'POST', '/api/v1/policies/evaluate', { body: requested });
    expect(body).toMatchObject({ effect: 'deny', reason: 'limit_reached' });
  });
});

function nameOf({ name }: { readonly name: string }): string {
  return name;
}
