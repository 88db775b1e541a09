import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { approve, company, DECISIONS, pending, reject, requireApproval, type Company } from './support';

const FINANCE = { subjects: ['role:finance'] };
const NOBODY = { subjects: ['role:nobody'] };

describe('The approvers of a decision', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=2,high=3' } });
    people = await company(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const agent = (name: string, body: object = {}): Promise<AgentResponse> => createAgent(app, { name, ...body });
  const approversOf = async (id: string | null, query = ''): Promise<Parsed> =>
    (await send(app, 'GET', `${DECISIONS}/${String(id)}/approvers${query}`)).body;
  const awaiting = async (idOrName: string, query = ''): Promise<Parsed> =>
    (await send(app, 'GET', `${DECISIONS}?awaiting=${encodeURIComponent(idOrName)}${query}`)).body;
  const idsAwaiting = async (idOrName: string, query = ''): Promise<string[]> =>
    (await awaiting(idOrName, query)).data.map(({ id }: Parsed) => id);

  describe('given with a proposal', () => {
    const post = (members: object): Promise<Answer> => {
      const body = { type: 'deployment', title: 'Deploy', proposedBy: people.bot.id, riskLevel: 'medium', ...members };
      return send(app, 'POST', DECISIONS, { body });
    };

    it('say who has to approve, and their sum says how many', async () => {
      const approvers = [{ subjects: ['role:finance', 'bot'], approvals: 2 }, { subjects: ['role:security'] }];
      const { status, body } = await post({ approvers });
      expect(status).toBe(201);
      const groups = [
        { subjects: ['role:finance', 'bot'], approvals: 2, given: 0 },
        { subjects: ['role:security'], approvals: 1, given: 0 },
      ];
      expect(body).toMatchObject({ requiredApprovals: 3, approvers: groups, executionId: null, executeWithin: null });
      expect((await approve(app, body.id, people.bot)).body.error.reason).toBe('self_approval');
      const stranger = await agent('a stranger', { kind: 'human', roles: ['sales'] });
      const refused = await approve(app, body.id, stranger);
      expect(refused.body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'not_an_approver' });
      expect((await reject(app, body.id, stranger)).body.error.reason).toBe('not_an_approver');
      for (const { id } of [people.ann, people.ben]) expect((await approve(app, body.id, { id })).status).toBe(200);
      expect((await approve(app, body.id, people.eve)).body.status).toBe('approved');
    });

    it('do not override a policy that denies', async () => {
      const barred = await agent('barred', { kind: 'human', roles: ['finance', 'barred'] });
      await createPolicy(app, {
        effect: 'deny',
        subjects: ['role:barred'],
        actions: ['decision:approve'],
        resources: ['decisions/*'],
      });
      const { body } = await post({ approvers: [{ ...FINANCE, approvals: 2 }] });
      expect((await approve(app, body.id, barred)).body.error.code).toBe('POLICY_DENIED');
      expect((await approversOf(body.id)).data.find(({ agentId }: Parsed) => agentId === barred.id)).toMatchObject({
        able: false,
        why: 'policy_denied',
      });
    });

    it('may be null, and do not make the decision one of an execution', async () => {
      expect((await post({ approvers: null })).body.approvers).toBeNull();
      const { body } = await post({ type: 'execution', approvers: [{ ...FINANCE, approvals: 2 }] });
      expect(body.executionId).toBeNull();
      expect((await reject(app, body.id)).body).toMatchObject({ status: 'rejected', reviews: [{ groups: [] }] });
    });

    it.each([
      ['too few', 'approvers', [FINANCE]],
      ['no groups', 'approvers', []],
      ['an object', 'approvers', { ...FINANCE }],
      ['a group without subjects', 'approvers[0].subjects', [{ approvals: 2 }]],
      ['a subject of no kind', 'approvers[0].subjects[0]', [{ subjects: ['kind:robot'], approvals: 2 }]],
      ['an unknown member', 'approvers[0].count', [{ ...FINANCE, count: 2 }]],
      ['no approvals', 'approvers[0].approvals', [{ ...FINANCE, approvals: 0 }]],
      ['equal lists', 'approvers[1].subjects', [FINANCE, FINANCE]],
      [
        'lists that are equal as sets',
        'approvers[1].subjects',
        [{ subjects: ['a', 'b'] }, { subjects: ['b', 'a', 'b'] }],
      ],
    ])('are refused with %s', async (_, field, approvers) => {
      const refused = await post({ approvers });
      expect(refused.status).toBe(400);
      expect(Object.keys(faults(refused))).toEqual([field]);
    });

    it('must require at least what REQUIRED_APPROVALS says', async () => {
      const refused = await post({ riskLevel: 'high', approvers: [{ ...FINANCE, approvals: 2 }] });
      expect(refused.body.error.message).toContain('at least 3 approvals together, as REQUIRED_APPROVALS says');
      // Together with the other faults; where the risk level is none, nothing can be said of the sum.
      const blank = await post({ title: ' ', riskLevel: 'high', approvers: [{ ...FINANCE, approvals: null }] });
      expect(Object.keys(faults(blank)).sort()).toEqual(['approvers', 'title']);
      const unknown = await post({ riskLevel: 'none', approvers: [FINANCE] });
      expect(Object.keys(faults(unknown))).toEqual(['riskLevel']);
    });
  });

  describe('are listed', () => {
    it('in order of creation, with the groups they fill and why they could not approve', async () => {
      const own = await company(app, '-listed');
      const clerk = await agent('clerk', { roles: ['listed'] });
      const person = (name: string): Promise<AgentResponse> => agent(name, { kind: 'human', roles: ['listed'] });
      const [first, second, third] = [await person('first'), await person('second'), await person('third')];
      const approvers = [
        { subjects: ['role:listed', own.bot.name], approvals: 2 },
        { subjects: [clerk.id, 'agent:third'], approvals: 1 },
      ];
      const decision = await propose(app, own.bot.id, { approvers });
      await approve(app, decision.id, first);
      await send(app, 'POST', `/api/v1/agents/${second.id}/suspend`);
      const row = (of: AgentResponse, groups: number[], why: string | null): object => {
        const { id: agentId, name, kind } = of;
        return { agentId, name, kind, groups, able: why === null, why };
      };
      const all = [
        row(own.bot, [0], 'proposer'),
        row(clerk, [1], null),
        row(first, [0], 'reviewed'),
        row(second, [0], 'suspended'),
        row(third, [0, 1], null),
      ];
      expect(await approversOf(decision.id)).toEqual({ data: all, total: 5, feasible: true });
      expect(await approversOf(decision.id, '?limit=2&offset=1')).toEqual({
        data: all.slice(1, 3),
        total: 5,
        feasible: true,
      });
      expect(await approversOf(decision.id, '?offset=5')).toEqual({ data: [], total: 5, feasible: true });
      // Only the clerk fits the other group, and nobody counts twice.
      await send(app, 'POST', `/api/v1/agents/${third.id}/suspend`);
      expect((await approversOf(decision.id)).feasible).toBe(false);
      await send(app, 'POST', `/api/v1/agents/${third.id}/resume`);
      await send(app, 'POST', `/api/v1/agents/${own.bot.id}/suspend`);
      const stuck = await approversOf(decision.id);
      expect(stuck.feasible).toBe(false);
      expect(stuck.data.map(({ why }: Parsed) => why)).toEqual(['proposer', ...Array(4).fill('suspended')]);
      await reject(app, decision.id, third);
      const settled = await approversOf(decision.id);
      expect(settled).toMatchObject({ total: 5, feasible: false });
      expect(settled.data.every(({ able }: Parsed) => able === false)).toBe(true);
    });

    it('as every active agent if the decision names none', async () => {
      const decision = await propose(app, people.bot.id, { riskLevel: 'high' });
      const active = (await send(app, 'GET', '/api/v1/agents?status=active&limit=1000')).body;
      const listed = await approversOf(decision.id, '?limit=1000');
      expect(listed.data.map(({ agentId }: Parsed) => agentId)).toEqual(active.data.map(({ id }: Parsed) => id));
      expect(listed).toMatchObject({ total: active.total, feasible: true });
      expect(listed.data.every(({ groups }: Parsed) => groups.length === 0)).toBe(true);
    });

    it('as insufficient if there are none', async () => {
      const decision = await propose(app, people.bot.id, { approvers: [NOBODY, FINANCE] });
      expect(await approversOf(decision.id)).toMatchObject({ feasible: false });
      const expiring = await propose(app, people.bot.id, { expiresAt: new Date(Date.now() + 2_000).toISOString() });
      await send(app, 'GET', `${DECISIONS}/${expiring.id}?wait=10`);
      expect(await approversOf(expiring.id)).toMatchObject({ feasible: false });
    });

    it.each(['limit=0', 'limit=1001', 'offset=-1', 'cursor=x', 'order=asc'])('but not with %s', async (query) => {
      const refused = await send(app, 'GET', `${DECISIONS}/dec_1/approvers?${query}`);
      expect(refused.status).toBe(400);
      expect(Object.keys(faults(refused))).toEqual([`query.${query.split('=')[0]}`]);
    });

    it('to callers with `read` or `review`, and 404 for an unknown decision', async () => {
      const decision = await propose(app, people.bot.id);
      const path = `${DECISIONS}/${decision.id}/approvers`;
      const keyFor = async (...scopes: string[]): Promise<string> => (await issueKey(app, { scopes })).secret;
      expect((await send(app, 'GET', path, { key: await keyFor('review') })).status).toBe(200);
      expect((await send(app, 'GET', path, { key: await keyFor('propose') })).status).toBe(403);
      expect((await send(app, 'GET', `${DECISIONS}/dec_1/approvers`)).status).toBe(404);
    });
  });

  describe('awaited', () => {
    it('are the proposed decisions that an agent could approve now', async () => {
      const own = await company(app, '-awaited');
      const reviewer = await agent('awaited', { kind: 'human', roles: ['awaited'] });
      const approvers = [{ subjects: ['role:awaited', own.ann.name], approvals: 2 }];
      const mine = async (members: object = {}): Promise<string> =>
        (await propose(app, own.bot.id, { approvers, ...members })).id;
      const [open, other] = [await mine(), await mine({ riskLevel: 'medium' })];
      await propose(app, own.bot.id, { approvers: [NOBODY] });
      await mine({ type: 'barred' });
      await createPolicy(app, {
        effect: 'deny',
        subjects: [reviewer.name],
        actions: ['decision:approve'],
        resources: ['decisions/low/barred'],
      });
      await propose(app, reviewer.id, { approvers });
      const [reviewed, settled] = [await mine(), await mine()];
      await approve(app, reviewed, reviewer);
      await reject(app, settled, own.ann);
      const suspended = await company(app, '-gone');
      const stuck = await propose(app, suspended.bot.id, { approvers });
      await send(app, 'POST', `/api/v1/agents/${suspended.bot.id}/suspend`);
      await requireApproval(app, { approvers }, { actions: ['send'], subjects: [own.bot.name] });
      const request = await pending(app, own.bot, { action: 'send' });

      const scope = `&proposedBy=${own.bot.name}`;
      for (const name of [reviewer.id, reviewer.name])
        expect(await idsAwaiting(name, scope)).toEqual([open, other, request.decisionId]);
      expect(await idsAwaiting(reviewer.id, `${scope}&riskLevel=medium`)).toContain(other);
      expect(await idsAwaiting(reviewer.id, `${scope}&status=rejected`)).toEqual([]);
      expect(await idsAwaiting(own.ann.id, scope)).not.toContain(settled);
      const gone = `&proposedBy=${suspended.bot.id}`;
      expect(await idsAwaiting(reviewer.id, gone)).toEqual([]);
      await send(app, 'POST', `/api/v1/agents/${suspended.bot.id}/resume`);
      expect(await idsAwaiting(reviewer.id, gone)).toEqual([stuck.id]);
      await send(app, 'POST', `/api/v1/agents/${reviewer.id}/suspend`);
      expect(await awaiting(reviewer.id)).toEqual({ data: [], total: 0 });
      expect(await awaiting('nobody at all')).toEqual({ data: [], total: 0 });
    });

    it('are paged, in either order, each once, with their total', async () => {
      const proposer = await agent('page-proposer');
      const reviewer = await agent('page-reviewer', { kind: 'human' });
      const expected: string[] = [];
      for (let count = 0; count < 12; count += 1) {
        const { id } = await propose(app, proposer.id, {
          approvers: [count % 3 === 2 ? NOBODY : { subjects: ['page-reviewer'] }],
        });
        if (count % 3 !== 2) expected.push(id);
      }
      const scope = `&proposedBy=${proposer.id}`;
      const readAll = async (query: string): Promise<string[]> => {
        const ids: string[] = [];
        for (let page = await awaiting(reviewer.id, `${scope}&limit=3${query}`); ;) {
          expect(page.total).toBe(8);
          ids.push(...page.data.map(({ id }: Parsed) => id));
          if (page.nextCursor === undefined) return ids;
          page = (await send(app, 'GET', `${DECISIONS}?limit=3&cursor=${page.nextCursor}`)).body;
        }
      };
      expect(await readAll('')).toEqual(expected);
      expect(await readAll('&order=desc')).toEqual([...expected].reverse());
      expect(await readAll('&offset=2')).toEqual(expected.slice(2));
    });

    it('are found among decisions whose approvers take long to determine', async () => {
      const proposer = await agent('long-proposer');
      const reviewer = await agent('long-reviewer', { kind: 'human' });
      const others = Array.from({ length: 10 }, (_, index) => `role:${'x'.repeat(300)}${index}`);
      const expected: string[] = [];
      for (const subjects of [['long-reviewer'], [...others, 'long-reviewer'], others, ['long-reviewer']]) {
        const { id } = await propose(app, proposer.id, { approvers: [{ subjects }] });
        if (subjects !== others) expected.push(id);
      }
      const scope = `&proposedBy=${proposer.id}`;
      expect(await awaiting(reviewer.id, `${scope}&limit=2`)).toMatchObject({
        total: 3,
        data: [{ id: expected[0] }, { id: expected[1] }],
      });
      expect(await idsAwaiting(reviewer.id, `${scope}&order=desc`)).toEqual([...expected].reverse());
    });

    it('are shown of its own agent alone to a bound caller that sees only its own decisions', async () => {
      const mine = await agent('sees-own');
      await agent('sight-reviewer', { kind: 'human' });
      await propose(app, mine.id, { approvers: [{ subjects: ['sight-reviewer'] }] });
      const { secret: key } = await issueKey(app, { scopes: ['propose'], agentId: mine.id });
      for (const name of ['sight-reviewer', 'nobody-at-all']) {
        const refused = await send(app, 'GET', `${DECISIONS}?awaiting=${name}`, { key });
        expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'not_this_agent' } } });
      }
      const own = await send(app, 'GET', `${DECISIONS}?awaiting=sees-own`, { key });
      expect(own).toMatchObject({ status: 200, body: { total: 0, data: [] } });
      const { nextCursor } = await awaiting('sight-reviewer', '&limit=1');
      expect(await send(app, 'GET', `${DECISIONS}?cursor=${nextCursor}`, { key })).toMatchObject({ status: 403 });
      const { secret: reviewing } = await issueKey(app, { scopes: ['review'], agentId: mine.id });
      const seen = await send(app, 'GET', `${DECISIONS}?awaiting=sight-reviewer`, { key: reviewing });
      expect(seen.status).toBe(200);
      expect(seen.body.total).toBeGreaterThan(0);
    });
  });
});
