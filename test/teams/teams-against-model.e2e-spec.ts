import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { Random } from '../support/oracles/random-policies';
import { ACTIONS, type ModelAgent, type ModelPolicy, TeamModel } from '../support/oracles/team-model';

/** Number of steps; TEAM_STEPS=10000 is the full test. */
const STEPS = Number(process.env['TEAM_STEPS'] ?? 120);
jest.setTimeout(300_000 + 200 * STEPS);

const TEAMS = ['red', 'blue'] as const;
type Team = (typeof TEAMS)[number];
type Body = Readonly<Record<string, unknown>>;

const AGENT_NAMES = Array.from({ length: 10 }, (_, index) => `bot-${index}`);
const POLICY_NAMES = Array.from({ length: 8 }, (_, index) => `policy-${index}`);
const ROLES = ['red.a', 'blue.a', 'house', 'red', 'bluest.a'];
const RESOURCE = { resourceType: 't', resourceId: 'x' };

describe('Whatever keys of teams do', () => {
  let app: TestApp;
  const keys = new Map<Team, string>();
  const random = new Random(Number(process.env['TEAM_SEED'] ?? 1));
  const model = new TeamModel();
  let versions = 0;

  beforeAll(async () => {
    app = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '1000000', RATE_LIMIT: '1000000' } });
    for (const team of TEAMS)
      keys.set(team, (await issueKey(app, { team, scopes: ['read', 'agents', 'policies', 'execute'] })).secret);
    for (const name of ['bot-0', 'bot-1'])
      await operator('POST', '/agents', { name, capabilities: ['*'], roles: ['house'] }).then(learnAgent);
    for (const [name, team] of [
      ['bot-2', 'red'],
      ['bot-3', 'blue'],
    ] as const)
      await operator('POST', '/agents', { name, capabilities: ['*'], roles: ['house'], team }).then(learnAgent);
    const house = [
      { ...policyBody(), name: 'policy-0', effect: 'allow', subjects: ['*'], actions: ['read'] },
      {
        ...policyBody(),
        name: 'policy-1',
        effect: 'deny',
        subjects: ['role:house'],
        actions: ['send'],
        priority: 1000,
      },
    ];
    for (const body of house) model.put((await operator('POST', '/policies', body)).body as ModelPolicy);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  function operator(method: string, path: string, body?: Body): Promise<Answer> {
    return send(app, method, `/api/v1${path}`, body === undefined ? {} : { body });
  }
  function ask(team: Team, method: string, path: string, body?: Body): Promise<Answer> {
    const key = keys.get(team) ?? '';
    return send(app, method, `/api/v1${path}`, { key, ...(body !== undefined && { body }) });
  }
  function learnAgent({ body }: Answer): void {
    model.agents.set(body.name, body as ModelAgent);
  }

  function policyBody(): Body & { readonly name: string; readonly priority: number } {
    versions += 1;
    return {
      name: random.of(POLICY_NAMES),
      version: String(versions),
      effect: random.of(['allow', 'allow', 'deny', 'require_approval']),
      subjects: [random.of(['*', 'role:house', 'role:red.a', 'role:blue.a', `agent:${random.of(AGENT_NAMES)}`])],
      actions: [random.of(['*', ...ACTIONS])],
      resources: ['*'],
      priority: random.of([0, 0, 1, 999, 999, 1000]),
    };
  }

  /** The team of another, now and then, in a request. */
  const foreign = (team: Team): Body => (random.below(8) === 0 ? { team: team === 'red' ? 'blue' : 'red' } : {});
  const isOwnRole = (team: Team, role: string): boolean => role.startsWith(`${team}.`);

  const steps: Readonly<Record<string, (team: Team) => Promise<void>>> = {
    async createAgent(team) {
      const [name, roles, other] = [random.of(AGENT_NAMES), random.some(ROLES), foreign(team)];
      const body = { name, roles: [...new Set(roles)], capabilities: [random.of(['*', 'read'])], ...other };
      const isRefused = 'team' in other || !roles.every((role) => isOwnRole(team, role));
      const expectedStatus = model.agents.has(name) ? 409 : 201;
      const answer = await ask(team, 'POST', '/agents', body);
      expect(answer.status).toBe(isRefused ? 403 : expectedStatus);
      if (answer.status === 201) learnAgent(answer);
    },
    async changeAgent(team) {
      const name = random.of(AGENT_NAMES);
      const agent = model.agents.get(name);
      const roles = [...new Set([...(agent?.roles ?? []).filter(() => random.below(3) > 0), random.of(ROLES)])];
      const changed = [
        ...roles.filter((role) => agent?.roles.includes(role) !== true),
        ...(agent?.roles ?? []).filter((role) => !roles.includes(role)),
      ];
      const status = changed.every((role) => isOwnRole(team, role)) ? 200 : 403;
      const answer = await ask(team, 'PATCH', `/agents/${name}`, { roles });
      expect(answer.status).toBe(agent?.team === team ? status : 404);
      if (answer.status === 200) learnAgent(answer);
    },
    async changeStatus(team) {
      const name = random.of(AGENT_NAMES);
      const answer = await ask(team, 'POST', `/agents/${name}/${random.of(['suspend', 'resume', 'resume'])}`);
      expect(answer.status).toBe(model.agents.get(name)?.team === team ? 200 : 404);
      if (answer.status === 200) learnAgent(answer);
    },
    async createPolicy(team) {
      const [body, other] = [policyBody(), foreign(team)];
      const answer = await ask(team, 'POST', '/policies', { ...body, ...other });
      const invalid = body.priority >= 1000 ? 400 : 201;
      const status = model.isTaken(body.name, team) && invalid === 201 ? 409 : invalid;
      expect(answer.status).toBe('team' in other ? 403 : status);
      if (answer.status === 201) model.put(answer.body as ModelPolicy);
    },
    async switchPolicy(team) {
      const policy = random.of([...model.policies.values()]);
      const verb = random.of(['activate', 'deactivate'] as const);
      const answer = await ask(team, 'POST', `/policies/${policy.id}/${verb}`);
      const own = verb === 'deactivate' && policy.status === 'superseded' ? 409 : 200;
      const others = policy.team === null ? 403 : 404;
      expect(answer.status).toBe(policy.team === team ? own : others);
      if (answer.status === 200) model.put(answer.body as ModelPolicy);
    },
    async applyPolicies(team) {
      const bodies = [policyBody(), policyBody()].filter(
        ({ name, priority }, index, all) => priority < 1000 && all.findIndex((other) => other.name === name) === index,
      );
      const prune = random.below(3) === 0;
      const planned = await ask(team, 'POST', '/policies/plan', { policies: bodies, prune });
      const isTaken = bodies.some(({ name }) => model.isTaken(name, team));
      expect(planned.status).toBe(isTaken ? 409 : 200);
      mentionsOnly(team, planned);
      if (isTaken) return;
      expect(planned.body.base).toBe(model.setOf(team));
      const body = { base: planned.body.base, policies: bodies, prune };
      const applied = await ask(team, 'POST', '/policies/apply', body);
      expect(applied.status).toBe(200);
      for (const { data } of [(await operator('GET', '/policies?limit=1000&status=active')).body])
        model.replaceActive(team, data as ModelPolicy[]);
      expect(applied.body.policySet).toBe(model.setOf(team));
      if (prune) expect(model.activeOf(team).length).toBe(bodies.length);
    },
    async execute(team) {
      const [name, action] = [random.of(AGENT_NAMES), random.of(ACTIONS)];
      const agent = model.agents.get(name);
      versions += 1;
      const answer = await ask(team, 'POST', `/agents/${name}/execute`, {
        action,
        ...RESOURCE,
        parameters: { n: versions },
      });
      const expected = { allow: 200, require_approval: 202, deny: 403 }[agent ? model.effectOf(agent, action) : 'deny'];
      expect(answer.status).toBe(agent?.team === team ? expected : 404);
      if (agent?.team !== team) return;
      const id = answer.body.id ?? answer.body.error.executionId;
      model.executions.set(id, agent.id);
      for (const other of TEAMS)
        expect((await ask(other, 'GET', `/executions/${id}`)).status).toBe(other === team ? 200 : 404);
    },
    // Only an admin does this.
    async moveAgent() {
      const name = random.of(AGENT_NAMES);
      const answer = await operator('PATCH', `/agents/${name}`, { team: random.of(['red', 'blue', null]) });
      if (answer.status === 200) learnAgent(answer);
    },
  };

  /** The ids of agents and policies in an answer are those that the team sees. */
  function mentionsOnly(team: Team, { text }: Answer): void {
    for (const [id] of text.matchAll(/(?:agt|pol)_[0-9A-Z]{26}/g)) {
      const policy = model.policies.get(id);
      if (policy !== undefined) expect([null, team]).toContain(policy.team);
      else if (!id.startsWith('pol_')) expect(model.agentById(id)?.team).toBe(team);
    }
  }

  async function answersNow(): Promise<Map<string, string>> {
    const questions = [...model.agents.keys()].flatMap((agent) => ACTIONS.map((action) => ({ agent, action })));
    const body = { requests: questions.map((question) => ({ ...question, ...RESOURCE })) };
    const { results } = (await operator('POST', '/policies/evaluate', body)).body;
    return new Map(
      questions.map(({ agent, action }, index) => {
        const { effect, reason, policies } = results[index];
        return [`${agent} ${action}`, JSON.stringify([effect, reason, policies])];
      }),
    );
  }

  async function seenBy(team: Team): Promise<void> {
    const agents = await ask(team, 'GET', '/agents?limit=1000');
    const own = [...model.agents.values()].filter((agent) => agent.team === team);
    const names = agents.body.data.map(({ name }: ModelAgent) => name).sort();
    expect([names, agents.body.total]).toEqual([own.map(({ name }) => name).sort(), own.length]);
    const policies = await ask(team, 'GET', '/policies?limit=1000&status=active');
    const ids = policies.body.data.map(({ id }: ModelPolicy) => id).sort();
    const visible = [...model.activeOf(null), ...model.activeOf(team)].map(({ id }) => id).sort();
    expect([ids, policies.body.total]).toEqual([visible, visible.length]);
    const executions = await ask(team, 'GET', '/executions?limit=5&order=desc');
    const teamIds = new Set(own.map(({ id }) => id));
    expect(executions.body.total).toBe([...model.executions.values()].filter((id) => teamIds.has(id)).length);
    for (const { agentId } of executions.body.data) expect(teamIds).toContain(agentId);
    for (const answer of [agents, policies]) mentionsOnly(team, answer);
  }

  it(`no answer to an agent of another team changes, and no record of one is shown, in ${STEPS} steps`, async () => {
    const names = Object.keys(steps);
    let before = await answersNow();
    const done = new Map<string, number>();
    for (let step = 0; step < STEPS; step += 1) {
      const [name, team] = [random.of(names), random.of(TEAMS)];
      await steps[name]?.(team);
      done.set(name, (done.get(name) ?? 0) + 1);
      const now = await answersNow();
      for (const [question, answer] of before) {
        const agent = model.agents.get(question.split(' ')[0] ?? '');
        const mayChange = name === 'moveAgent' || agent?.team === team;
        if (!mayChange) expect({ step, name, team, question, answer: now.get(question) }).toMatchObject({ answer });
      }
      for (const [question, answer] of now) {
        const [agentName = '', action = ''] = question.split(' ');
        const agent = model.agents.get(agentName);
        const [effect] = JSON.parse(answer) as [string];
        expect({ step, question, effect: agent && model.effectOf(agent, action) }).toEqual({ step, question, effect });
      }
      before = now;
      await seenBy(random.of(TEAMS));
    }
    if (STEPS >= 100) expect([...done.keys()].sort()).toEqual([...names].sort());
  });
});
