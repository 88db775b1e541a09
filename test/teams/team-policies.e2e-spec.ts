import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

type Body = Readonly<Record<string, unknown>>;

const RULES = { version: '1', effect: 'allow', subjects: ['*'], actions: ['read'], resources: ['*'] };
const NO_POLICIES = '4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945';

describe('Sets of policies of a team', () => {
  let app: TestApp;
  let database: TemporaryDatabase;
  let key: string;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: { ...database.environment, MAX_POLICIES: '30' } });
    key = (await issueKey(app, { team: 'support', scopes: ['read', 'agents', 'policies'] })).secret;
    await createAgent(app, { name: 'support-bot', capabilities: ['read'], team: 'support' });
    await createAgent(app, { name: 'sales-bot', capabilities: ['read'], team: 'sales' });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
    await database.remove();
  });

  const post = (path: string, body: Body, as = true): Promise<Answer> =>
    send(app, 'POST', `/api/v1/policies${path}`, { body, ...(as && { key }) });
  const inForce = async (): Promise<unknown[]> => {
    const { data } = (await send(app, 'GET', '/api/v1/policies?status=active')).body;
    return data.map(({ name, team }: Body) => [name, team]);
  };

  it('name and prune no policy of others', async () => {
    await createPolicy(app, { name: 'of-house' });
    await createPolicy(app, { name: 'of-sales', team: 'sales' });
    await post('', { ...RULES, name: 'old' });
    const set = { policies: [{ ...RULES, name: 'new' }], prune: true };
    const planned = await post('/plan', set);
    expect(planned.body.changes.map(({ change, name }: Body) => [change, name])).toEqual([
      ['create', 'new'],
      ['deactivate', 'old'],
    ]);
    const applied = await post('/apply', { ...set, base: planned.body.base });
    expect(applied.status).toBe(200);
    expect(await inForce()).toEqual([
      ['of-house', null],
      ['of-sales', 'sales'],
      ['new', 'support'],
    ]);
    // Changes outside the team do not change its base.
    await createPolicy(app, { name: 'of-house-2' });
    const again = await post('/plan', { policies: [], prune: false });
    expect(again.body.base).toBe(applied.body.policySet);
    const house = await post('/plan', { policies: [], prune: true }, false);
    expect(house.body.changes.map(({ name }: Body) => name)).toEqual(['of-house', 'of-house-2']);
  });

  it('are planned for its agents, by a key without a team with `team`', async () => {
    const set = { policies: [{ ...RULES, name: 'reads' }] };
    const ids = new Map<string, string>();
    for (const name of ['support-bot', 'sales-bot'])
      ids.set(name, (await send(app, 'GET', `/api/v1/agents/${name}`)).body.id);
    const own = await post('/plan', set);
    const teamPlan = await post('/plan', { ...set, team: 'support' }, false);
    expect(own.body.base).toBe(NO_POLICIES);
    expect(teamPlan.body).toEqual(own.body);
    const subjects: string[] = own.body.effects.flatMap((effect: { subjects: string[] }) => effect.subjects);
    expect(subjects).toContain(ids.get('support-bot'));
    expect(subjects).not.toContain(ids.get('sales-bot'));
    const applied = await post('/apply', { ...set, team: 'support', base: teamPlan.body.base }, false);
    expect(applied.status).toBe(200);
    expect(await inForce()).toEqual([['reads', 'support']]);
    expect((await post('/plan', { ...set, team: 'sales' })).status).toBe(403);
    const other = { policies: [{ ...RULES, name: 'x', team: 'sales' }] };
    expect((await post('/plan', other)).body.error.reason).toBe('not_this_team');
    expect((await post('/plan', other, false)).body.error.details).toEqual([
      { field: 'policies[0].team', message: 'must be that of the set, the member team of the request' },
    ]);
  });

  it('of no team are planned for every agent, by what the policies of teams say', async () => {
    await post('', { ...RULES, name: 'reads', priority: 5 });
    const planned = await post('/plan', { policies: [{ ...RULES, name: 'stop', effect: 'deny' }] }, false);
    const { id } = (await send(app, 'GET', '/api/v1/agents/support-bot')).body;
    const subjects = planned.body.effects.flatMap((effect: { subjects: string[] }) => effect.subjects);
    expect(planned.body.complete).toBe(true);
    expect(subjects).not.toContain(id);
    const stronger = { ...RULES, name: 'stop', effect: 'deny', priority: 9 };
    const again = await post('/plan', { policies: [stronger] }, false);
    expect(again.body.effects).toContainEqual(expect.objectContaining({ subjects: expect.arrayContaining([id]) }));
  });

  it('have tests with subjects of the team', async () => {
    const test = { action: 'read', resourceType: 't', resourceId: 'x', expect: 'allow' };
    const set = { policies: [{ ...RULES, name: 'reads' }], tests: [{ ...test, subject: {} }] };
    expect((await post('/plan', set)).body.tests).toEqual({ passed: 1, failed: [] });
    const unknown = { ...set, tests: [{ ...test, agent: 'sales-bot' }] };
    expect((await post('/plan', unknown)).body.error.details).toEqual([
      { field: 'tests[0].agent', message: 'must be the id or the name of an existing agent' },
    ]);
    const house = { ...set, tests: [{ ...test, subject: { team: 'support' }, expect: 'allow' }] };
    expect((await post('/plan', house, false)).body.tests).toEqual({ passed: 1, failed: [] });
  });

  it('bring agents of the team with them, whose team stays unless an admin moves them', async () => {
    const base = NO_POLICIES;
    const apply = (agents: readonly Body[], as = true): Promise<Answer> =>
      post('/apply', { base, policies: [], agents }, as);
    const made = await apply([
      { name: 'new-bot', roles: ['support.a'] },
      { name: 'support-bot', capabilities: ['read'] },
    ]);
    expect(made.body.agents.map(({ change }: Body) => change)).toEqual(['create', 'keep']);
    expect((await send(app, 'GET', '/api/v1/agents/new-bot')).body.team).toBe('support');
    expect((await apply([{ name: 'sales-bot' }])).status).toBe(409);
    expect((await apply([{ name: 'y', roles: ['x'] }])).body.error.reason).toBe('not_this_team');
    const manager = await issueKey(app, { scopes: ['agents', 'policies'] });
    const move = { base, policies: [], agents: [{ name: 'new-bot', roles: ['support.a'], team: 'sales' }] };
    const refused = await send(app, 'POST', '/api/v1/policies/apply', { key: manager.secret, body: move });
    expect(refused.body.error.reason).toBe('scope_missing');
    expect((await post('/apply', move, false)).status).toBe(200);
    expect((await apply([{ name: 'new-bot', description: 'x' }], false)).body.agents[0].change).toBe('update');
    expect((await send(app, 'GET', '/api/v1/agents/new-bot')).body.team).toBe('sales');
  });

  it('are at most a tenth of each bound, and the last tenth is for keys without a team', async () => {
    const create = (team: string, index: number, withKey?: string): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies', {
        body: { ...RULES, name: `${team} ${index}`, team },
        ...(withKey !== undefined && { key: withKey }),
      });
    for (let index = 0; index < 3; index += 1) expect((await create('support', index, key)).status).toBe(201);
    const refused = await create('support', 3, key);
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringContaining('4 policies of the team "support" in force are more than the 3, a tenth of the 30'),
    ]);
    expect((await create('support', 3)).status).toBe(409);
    for (let index = 0; index < 23; index += 1) await createPolicy(app, { name: `house ${index}` });
    const { secret } = await issueKey(app, { team: 'sales', scopes: ['policies'] });
    expect((await create('sales', 0, secret)).status).toBe(201);
    const last = await create('sales', 1, secret);
    expect([last.status, last.body.error.message]).toEqual([
      409,
      expect.stringContaining('28 policies in force are more than the 27, nine tenths of the 30'),
    ]);
    expect((await create('sales', 1)).status).toBe(201);
    await createPolicy(app, { name: 'house' });
  });

  it('warn by what the team sees', async () => {
    await createAgent(app, { name: 'hidden-bot', roles: ['hidden'], capabilities: ['hide'], team: 'sales' });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['reviewer'] });
    const askPolicy = {
      ...RULES,
      name: 'asks',
      effect: 'require_approval',
      subjects: ['role:hiden', 'hiden-bot'],
      actions: ['hid'],
      approval: { approvers: [{ subjects: ['role:reviewer'] }, { subjects: ['agent:hidden-bot'] }] },
    };
    const { body } = await post('', askPolicy);
    const warnings: string[] = body.warnings;
    expect(warnings.join()).not.toContain('hidden"?');
    expect(warnings).toContain('No active agent matches approval.approvers[1] (agent:hidden-bot).');
    expect(warnings.join()).not.toContain('approvers[0]');
  });

  it('remain in force if TEAM_PRIORITY is lowered, but are not activated any more', async () => {
    const { id } = (await post('', { ...RULES, name: 'high', priority: 900 })).body;
    const { id: other } = (await post('', { ...RULES, name: 'other', priority: 900 })).body;
    await post(`/${other}/deactivate`, {});
    await app.close();
    const log: string[] = [];
    const environment = { ...database.environment, TEAM_PRIORITY: '900' };
    app = await createTestApp({ environment, logStream: { write: (line) => log.push(line) } });
    expect(log.join('')).toContain('not below TEAM_PRIORITY (900), and can override those of no team: 1.');
    expect((await send(app, 'GET', `/api/v1/policies/${id}`)).body.status).toBe('active');
    expect((await post(`/${other}/activate`, {})).status).toBe(409);
    expect((await post(`/${id}/activate`, {})).status).toBe(200);
  });
});

describe('A report, and usage,', () => {
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp()));
  afterAll(() => app.close());

  it('name the team of each agent, and show a team what its own agents used', async () => {
    const limits = [
      { max: 10, per: 'day', by: 'agent' },
      { max: 10, per: 'day', by: 'policy' },
    ];
    const policy = await createPolicy(app, { name: 'limited', limits });
    const used: Body[] = [];
    for (const team of ['support', 'sales']) {
      const { id } = await createAgent(app, { name: `${team}-bot`, capabilities: ['*'], team });
      const body = { action: 'read', resourceType: 't', resourceId: 'x' };
      expect((await send(app, 'POST', `/api/v1/agents/${id}/execute`, { body })).status).toBe(200);
      used.push({ id, team });
    }
    const { agents } = (await send(app, 'GET', '/api/v1/reports/oversight')).body;
    expect(agents.map(({ agentId, team }: Body) => ({ id: agentId, team }))).toEqual(expect.arrayContaining(used));
    const { secret: key } = await issueKey(app, { team: 'support', scopes: ['read'] });
    const path = `/api/v1/policies/${policy.id}/usage`;
    expect((await send(app, 'GET', path)).body.total).toBe(3);
    const own = (await send(app, 'GET', path, { key })).body;
    expect([own.total, own.data.map((row: Body) => row['key']).sort()]).toEqual([2, [used[0]?.['id'], null].sort()]);
  });
});
