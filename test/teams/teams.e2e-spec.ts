import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  auditOf,
  chainIsValid,
  createAgent,
  createEntity,
  createPolicy,
  issueKey,
  propose,
} from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

type Body = Readonly<Record<string, unknown>>;

const SCOPES = ['read', 'agents', 'policies', 'execute'];
const API = '/api/v1';
/** A policy that allows everything. */
const EVERYTHING = { version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

describe('A team', () => {
  let app: TestApp;
  const keys = new Map<string, string>();

  beforeAll(async () => {
    app = await createTestApp();
    for (const team of ['support', 'sales']) {
      keys.set(team, (await issueKey(app, { team, scopes: SCOPES, principals: ['user:*'] })).secret);
      await createAgent(app, { name: `${team}-bot`, capabilities: ['*'], team });
    }
    await createAgent(app, { name: 'house-bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['reviewer'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function ask(team: string | null, method: string, path: string, body?: Body): Promise<Answer> {
    const key = team === null ? {} : { key: keys.get(team) ?? '' };
    return send(app, method, API + path, { ...key, ...(body !== undefined && { body }) });
  }
  const executeAs = (team: string | null, agent: string, more: Body = {}): Promise<Answer> =>
    ask(team, 'POST', `/agents/${agent}/execute`, {
      action: 'read',
      resourceType: 'document',
      resourceId: 'a',
      ...more,
    });
  const refusal = ({ status, body }: Answer): unknown[] => [status, body.error?.reason ?? body.error?.code];
  const namesIn = ({ body }: Answer): string[] => body.data.map(({ name }: { name: string }) => name);

  describe("'s key", () => {
    it('is bound to no agent, and has no scope that belongs to the whole house', async () => {
      const create = (more: Body): Promise<Answer> =>
        ask(null, 'POST', '/api-keys', { name: 'k', scopes: ['read'], team: 'support', ...more });
      for (const scope of ['audit', 'review', 'admin', 'propose', 'entities', 'report'])
        expect((await create({ scopes: [scope] })).body.error.details).toContainEqual({
          field: 'scopes',
          message: 'must be among read, agents, policies, execute, as the key has a team',
        });
      const bound = await create({ agentId: 'support-bot' });
      expect(bound.body.error.details).toEqual([
        { field: 'agentId', message: 'must be left out: a key with a team is bound to nobody' },
      ]);
      for (const team of ['', ' a', 'x'.repeat(51)]) expect((await create({ team })).status).toBe(400);
    });

    it('says its team in /me, and in its list', async () => {
      expect((await ask('support', 'GET', '/me')).body).toMatchObject({ team: 'support', agentId: null });
      expect((await ask(null, 'GET', '/me')).body.team).toBeNull();
      const { data } = (await ask(null, 'GET', '/api-keys')).body;
      expect(data).toContainEqual(expect.objectContaining({ team: 'sales' }));
    });

    it('names only the principals that it lists', async () => {
      await ask('support', 'POST', '/policies', { name: 'support-all', ...EVERYTHING });
      expect((await executeAs('support', 'support-bot', { onBehalfOf: { subject: 'user:1' } })).status).toBe(200);
      const other = await executeAs('support', 'support-bot', { onBehalfOf: { subject: 'customer:1' } });
      expect(refusal(other)).toEqual([403, 'not_this_principal']);
    });

    it('may not read the metrics', async () => {
      const metrics = await send(app, 'GET', '/metrics', { key: keys.get('support') ?? '' });
      expect(refusal(metrics)).toEqual([403, 'not_this_team']);
    });

    it('warns at its creation of denies and approvals that the team can override', async () => {
      await createPolicy(app, { name: 'weak', effect: 'deny', actions: ['burn'], priority: 999 });
      await createPolicy(app, { name: 'strong', effect: 'deny', actions: ['burn'], priority: 1000 });
      const { warnings } = await issueKey(app, { team: 'sales', scopes: ['read'] });
      expect(warnings).toEqual([
        'weak (version 1.0, deny) has the priority 999: a policy of the team can override it. One of at least 1000 holds for every team.',
      ]);
      expect(await issueKey(app, { scopes: ['read'] })).not.toHaveProperty('warnings');
    });
  });

  describe('writes', () => {
    it('what is of it, and nothing of others', async () => {
      const agent = await ask('support', 'POST', '/agents', { name: 'made-by-support', roles: ['support.tier1'] });
      expect([agent.status, agent.body.team]).toEqual([201, 'support']);
      const policy = await ask('support', 'POST', '/policies', { name: 'of-support', ...EVERYTHING, actions: ['x'] });
      expect([policy.status, policy.body.team]).toEqual([201, 'support']);
      const other = { name: 'other', team: 'sales' };
      expect(refusal(await ask('support', 'POST', '/agents', other))).toEqual([403, 'not_this_team']);
      // Whether the name is taken does not matter then.
      const sameName = { ...other, name: 'made-by-support' };
      expect(refusal(await ask('support', 'POST', '/agents', sameName))).toEqual([403, 'not_this_team']);
      expect(refusal(await ask('support', 'POST', '/policies', { ...EVERYTHING, ...other }))).toEqual([
        403,
        'not_this_team',
      ]);
      const entity = await ask('support', 'POST', '/entities', { type: 'a', name: 'b' });
      expect(refusal(entity)).toEqual([403, 'scope_missing']);
    });

    it('gives and takes only roles that begin with its name', async () => {
      const { id } = await createAgent(app, { name: 'with-role', roles: ['watched'], team: 'support' });
      const change = (roles: string[]): Promise<Answer> => ask('support', 'PATCH', `/agents/${id}`, { roles });
      for (const roles of [['watched', 'finance'], [], ['watched', 'support'], ['watched', 'supporters.a']])
        expect(refusal(await change(roles))).toEqual([403, 'not_this_team']);
      expect((await change(['watched', 'support.a'])).status).toBe(200);
      expect((await change(['watched'])).status).toBe(200);
      const create = await ask('support', 'POST', '/agents', { name: 'with-finance', roles: ['finance'] });
      expect(refusal(create)).toEqual([403, 'not_this_team']);
    });

    it('has only machines, which admins alone move', async () => {
      const human = { name: 'bob', kind: 'human', team: 'support' };
      expect((await ask(null, 'POST', '/agents', human)).body.error.details).toEqual([
        { field: 'team', message: 'must be left out: only machines are in a team' },
      ]);
      expect((await ask(null, 'PATCH', '/agents/ann', { team: 'support' })).status).toBe(400);
      const { id } = await createAgent(app, { name: 'mover', team: 'support' });
      const manager = await issueKey(app, { scopes: ['agents', 'read'] });
      for (const key of [keys.get('support') ?? '', manager.secret])
        expect(refusal(await send(app, 'PATCH', `${API}/agents/${id}`, { key, body: { team: 'sales' } }))).toEqual([
          403,
          'scope_missing',
        ]);
      expect((await ask(null, 'PATCH', `/agents/${id}`, { team: 'sales' })).body.team).toBe('sales');
      expect((await ask('support', 'GET', `/agents/${id}`)).status).toBe(404);
      expect((await ask('sales', 'GET', `/agents/${id}`)).status).toBe(200);
      expect((await auditOf(app, id)).at(-1)).toMatchObject({ details: { fields: ['team'] } });
      expect((await ask(null, 'PATCH', `/agents/${id}`, { team: null })).body.team).toBeNull();
      expect((await ask('sales', 'GET', `/agents/${id}`)).status).toBe(404);
    });

    it('is not told what an agent could do in another team', async () => {
      const { id } = await createAgent(app, { name: 'moved', team: 'support' });
      await ask('support', 'POST', '/policies', { name: 'fly', ...EVERYTHING, actions: ['fly'] });
      const lastSequence = async (): Promise<number> =>
        (await ask(null, 'GET', '/provenance?limit=1&order=desc')).body.data[0].sequence;
      const then = await lastSequence();
      const question = { agent: 'moved', action: 'fly', resourceType: 'a', resourceId: 'b', explain: true };
      const askAboutThen = (team: string | null): Promise<Answer[]> =>
        Promise.all([
          ask(team, 'POST', '/policies/evaluate', { ...question, asOf: then }),
          ask(team, 'GET', `/agents/${id}/access?asOf=${then}`),
          ask(team, 'GET', `/agents/${id}/access?since=${then}`),
        ]);
      for (const { status } of await askAboutThen('support')) expect(status).toBe(200);
      await ask(null, 'PATCH', `/agents/${id}`, { team: 'sales' });
      for (const answer of await askAboutThen('sales')) expect(refusal(answer)).toEqual([403, 'not_this_team']);
      for (const { status } of await askAboutThen(null)) expect(status).toBe(200);
      const ofHouse = await createAgent(app, { name: 'moved-from-none' });
      const before = await lastSequence();
      await ask(null, 'PATCH', `/agents/${ofHouse.id}`, { team: 'sales' });
      expect((await ask('sales', 'GET', `/agents/${ofHouse.id}/access?asOf=${before}`)).status).toBe(200);
    });

    it('cannot take a name that another has', async () => {
      expect((await ask('support', 'POST', '/agents', { name: 'sales-bot' })).status).toBe(409);
      await ask('sales', 'POST', '/policies', { name: 'of-sales', ...EVERYTHING, actions: ['y'] });
      for (const version of ['1', '2']) {
        const same = { name: 'of-sales', ...EVERYTHING, actions: ['y'], version };
        expect((await ask('support', 'POST', '/policies', same)).status).toBe(409);
        expect((await ask(null, 'POST', '/policies', same)).status).toBe(409);
      }
    });

    it('only priorities below TEAM_PRIORITY', async () => {
      const create = (priority: number): Promise<Answer> =>
        ask('support', 'POST', '/policies', { ...EVERYTHING, name: `p ${priority}`, actions: ['z'], priority });
      expect((await create(1000)).body.error.details).toEqual([
        { field: 'priority', message: 'must be below 1000, as it is a policy of a team (TEAM_PRIORITY)' },
      ]);
      expect((await create(999)).status).toBe(201);
      const house = { ...EVERYTHING, name: 'of-team', actions: ['z'], team: 'support', priority: 1000 };
      expect((await ask(null, 'POST', '/policies', house)).status).toBe(400);
    });

    it('neither activates nor deactivates the policies of others', async () => {
      const { id: house } = await createPolicy(app, { actions: ['house'] });
      const { body } = await ask('sales', 'POST', '/policies', { name: 's1', ...EVERYTHING, actions: ['s1'] });
      for (const verb of ['activate', 'deactivate']) {
        expect(refusal(await ask('support', 'POST', `/policies/${house}/${verb}`))).toEqual([403, 'not_this_team']);
        expect((await ask('support', 'POST', `/policies/${body.id}/${verb}`)).status).toBe(404);
        expect((await ask('sales', 'POST', `/policies/${body.id}/${verb}`)).status).toBe(200);
      }
    });
  });

  describe('reads', () => {
    it('its agents, and policies of its own and of none; nothing else', async () => {
      const agents = namesIn(await ask('support', 'GET', '/agents?limit=1000'));
      expect(agents).toContain('support-bot');
      for (const name of ['sales-bot', 'house-bot', 'ann']) {
        expect(agents).not.toContain(name);
        expect((await ask('support', 'GET', `/agents/${name}`)).status).toBe(404);
        for (const verb of ['suspend', 'resume'])
          expect((await ask('support', 'POST', `/agents/${name}/${verb}`)).status).toBe(404);
        expect((await ask('support', 'PATCH', `/agents/${name}`, { description: 'x' })).status).toBe(404);
        expect((await executeAs('support', name)).status).toBe(404);
      }
      await createPolicy(app, { name: 'of-house', actions: ['h'] });
      const policies = namesIn(await ask('support', 'GET', '/policies?limit=1000'));
      expect(policies).toEqual(expect.arrayContaining(['of-house', 'support-all']));
      expect(policies).not.toContain('of-sales');
      const [ofSales] = (await ask(null, 'GET', '/policies?team=sales')).body.data;
      for (const path of ['', '/usage'])
        expect((await ask('support', 'GET', `/policies/${ofSales.id}${path}`)).status).toBe(404);
      const { body } = await ask('support', 'GET', '/policies');
      expect(body.total).toBe(policies.length);
    });

    it('what its agents did, and what they do not', async () => {
      await ask('sales', 'POST', '/policies', { name: 'sales-all', ...EVERYTHING });
      const own = (await executeAs('support', 'support-bot')).body;
      const other = (await executeAs('sales', 'sales-bot')).body;
      expect([own.outcome, other.outcome]).toEqual(['authorized', 'authorized']);
      const list = (await ask('support', 'GET', '/executions?limit=1000')).body;
      const ids = list.data.map(({ id }: { id: string }) => id);
      expect(ids).toContain(own.id);
      expect(ids).not.toContain(other.id);
      expect(list.total).toBe(ids.length);
      expect((await ask('support', 'GET', `/executions/${other.id}`)).status).toBe(404);
      expect((await ask('support', 'GET', `/executions/${own.id}`)).status).toBe(200);
      expect((await ask('support', 'POST', `/executions/${other.id}/cancel`)).status).toBe(404);
      expect((await ask('support', 'POST', `/executions/${other.id}/resume`)).status).toBe(404);
      expect((await ask(null, 'GET', '/executions?team=sales')).body.total).toBe(1);
      expect((await ask('support', 'GET', '/executions?team=sales')).body.total).toBe(0);
    });

    it('the decisions of its agents', async () => {
      const { id: ofSupport } = (await ask(null, 'GET', '/agents/support-bot')).body;
      const { id: ofSales } = (await ask(null, 'GET', '/agents/sales-bot')).body;
      const [own, other] = [await propose(app, ofSupport), await propose(app, ofSales)];
      const list = (await ask('support', 'GET', '/decisions')).body;
      expect(list).toMatchObject({ total: 1, data: [{ id: own.id }] });
      expect((await ask('support', 'GET', `/decisions/${other.id}`)).status).toBe(404);
      expect((await ask('support', 'GET', `/decisions/${other.id}/approvers`)).status).toBe(404);
      const approvers = (await ask('support', 'GET', `/decisions/${own.id}/approvers?limit=1000`)).body;
      const names = namesIn({ body: approvers } as Answer);
      expect(names).toContain('ann');
      expect(names).not.toContain('sales-bot');
      expect(approvers.total).toBe(names.length);
      expect((await ask(null, 'GET', '/decisions?team=sales')).body).toMatchObject({
        total: 1,
        data: [{ id: other.id }],
      });
      expect((await ask('support', 'GET', '/decisions?awaiting=ann')).body.total).toBe(0);
    });

    it('entities of all, statistics of its own, no stops', async () => {
      const { id } = await createEntity(app);
      expect((await ask('support', 'GET', `/entities/${id}`)).status).toBe(200);
      const { body: all } = await ask(null, 'GET', '/stats');
      const { body: own } = await ask('support', 'GET', '/stats');
      const total = async (list: string): Promise<number> => (await ask('support', 'GET', list)).body.total;
      expect(own).toEqual({
        entities: all.entities,
        claims: all.claims,
        agents: await total('/agents'),
        decisions: await total('/decisions'),
        policies: await total('/policies'),
        provenanceEntries: 0,
      });
      expect(own.agents).toBeLessThan(all.agents);
      const stop = (await ask(null, 'POST', '/stops', { actions: ['never'], reason: 'a test' })).body;
      expect((await ask('support', 'GET', '/stops')).body).toMatchObject({ total: 0, data: [] });
      expect((await ask('support', 'GET', `/stops/${stop.id}`)).status).toBe(404);
    });
  });

  describe("'s policies", () => {
    it('apply to its agents only', async () => {
      const deny = { ...EVERYTHING, effect: 'deny', actions: ['wire'], name: 'support-no-wire' };
      expect((await ask('support', 'POST', '/policies', deny)).status).toBe(201);
      expect((await executeAs('support', 'support-bot', { action: 'wire' })).status).toBe(403);
      expect((await executeAs('sales', 'sales-bot', { action: 'wire' })).status).toBe(200);
      expect(refusal(await executeAs(null, 'house-bot', { action: 'wire' }))).toEqual([403, 'no_policy_allows']);
    });

    it('override no policy of none at TEAM_PRIORITY or above', async () => {
      const guard = { actions: ['export'], effect: 'deny', priority: 1000 };
      await createPolicy(app, { name: 'guard', ...guard });
      const lift = { ...EVERYTHING, actions: ['export'], name: 'support-export', priority: 999 };
      expect((await ask('support', 'POST', '/policies', lift)).status).toBe(201);
      expect(refusal(await executeAs('support', 'support-bot', { action: 'export' }))).toEqual([403, 'policy_denied']);
    });

    it('are missing from the answers and explanations of others', async () => {
      const question = { action: 'wire', resourceType: 'document', resourceId: 'a', explain: true };
      const { body } = await ask('sales', 'POST', '/policies/evaluate', { ...question, agent: 'sales-bot' });
      const { body: seen } = await ask('sales', 'GET', '/policies?status=active&limit=1000');
      expect(body.explanation.inForce).toBe(seen.total);
      expect(JSON.stringify(body)).not.toContain('support');
      const unknown = await ask('sales', 'POST', '/policies/evaluate', { ...question, agent: 'support-bot' });
      expect(unknown.body.error.details).toEqual([
        { field: 'agent', message: 'must be the id or the name of an existing agent' },
      ]);
    });

    it('are not told of people, although people may be principals', async () => {
      const { secret: key } = await issueKey(app, { team: 'sales', scopes: ['read'], principals: ['agent:*'] });
      const question = { action: 'wire', resourceType: 'document', resourceId: 'a' };
      const forAnn = { onBehalfOf: { subject: 'agent:ann' } };
      const evaluate = (body: Body): Promise<Answer> =>
        send(app, 'POST', `${API}/policies/evaluate`, { key, body: { ...question, ...body } });
      expect((await evaluate({ agent: 'sales-bot', ...forAnn })).status).toBe(200);
      for (const [body, field] of [
        [{ agent: 'ann' }, 'agent'],
        [{ agent: 'ann', ...forAnn }, 'agent'],
        [{ requests: [{ agent: 'sales-bot', ...forAnn }, { agent: 'ann' }] }, 'requests[1].agent'],
      ] as const)
        expect((await evaluate(body)).body.error?.details).toEqual([
          { field, message: 'must be the id or the name of an existing agent' },
        ]);
      const evaluation = { subject: { type: 'agent', id: 'ann' }, context: { agent: 'ann' }, action: { name: 'wire' } };
      const body = { ...evaluation, resource: { type: 'document', id: 'a' } };
      const { context } = (await send(app, 'POST', '/access/v1/evaluation', { key, body })).body;
      expect(context.reason).toBe('agent_unknown');
    });

    it('count for a subject of the team', async () => {
      const question = { action: 'wire', resourceType: 'document', resourceId: 'a' };
      const effect = async (team: string | null, subject: Body): Promise<unknown> =>
        (await ask(team, 'POST', '/policies/evaluate', { ...question, subject })).body.effect;
      expect(await effect('sales', {})).toBe('allow');
      expect(await effect(null, { team: 'sales' })).toBe('allow');
      expect(await effect(null, { team: 'support' })).toBe('deny');
      expect(await effect(null, {})).toBe('deny');
      const other = await ask('sales', 'POST', '/policies/evaluate', { ...question, subject: { team: 'support' } });
      expect(refusal(other)).toEqual([403, 'not_this_team']);
    });
  });
});
