import type { PolicyResponse } from '../../src/governance/policies/dto/policy.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';

const POLICIES = '/api/v1/policies';
const DEFAULTS = {
  riskLevel: 'medium',
  approvers: [{ subjects: ['*'], approvals: 2 }],
  decideWithin: 'P1D',
  executeWithin: 'PT1H',
};

describe('Policies that require an approval', () => {
  let app: TestApp;
  let number = 0;

  beforeAll(async () => {
    app = await createTestApp({ environment: { REQUIRED_APPROVALS: 'medium=2,high=3' } });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const create = (body: Record<string, unknown>): Promise<Answer> => {
    const rules = { effect: 'require_approval', subjects: ['nobody'], actions: ['*'], resources: ['*'] };
    return send(app, 'POST', POLICIES, {
      body: { name: `requires ${(number += 1)}`, version: '1', ...rules, ...body },
    });
  };
  const approvalOf = async (approval: unknown): Promise<PolicyResponse['approval']> => {
    const { status, body } = await create({ approval });
    expect(status).toBe(201);
    expect((await send(app, 'GET', `${POLICIES}/${body.id}`)).body).toEqual(body);
    return body.approval;
  };

  it('have their defaults filled in, the number of approvals by the risk level', async () => {
    for (const approval of [undefined, null, {}, { riskLevel: null, approvers: null }])
      expect(await approvalOf(approval)).toEqual(DEFAULTS);
    expect(await approvalOf({ riskLevel: 'high' })).toEqual({
      ...DEFAULTS,
      riskLevel: 'high',
      approvers: [{ subjects: ['*'], approvals: 3 }],
    });
    const approvers = [{ subjects: ['role:finance'] }, { subjects: ['kind:human', 'bot'], approvals: 10 }];
    expect(await approvalOf({ approvers, decideWithin: 'P2W', executeWithin: 'P1DT12H' })).toEqual({
      ...DEFAULTS,
      approvers: [{ subjects: ['role:finance'], approvals: 1 }, approvers[1]],
      decideWithin: 'P2W',
      executeWithin: 'P1DT12H',
    });
  });

  it('accept every member at its limit', async () => {
    const subjects = Array.from({ length: 100 }, (_, index) => `role:${index}`.padEnd(500, 'x'));
    const approval = {
      riskLevel: 'critical',
      approvers: Array.from({ length: 10 }, () => ({ subjects, approvals: 10 })),
      decideWithin: 'P365D',
      executeWithin: 'PT1S',
    };
    expect(await approvalOf(approval)).toEqual(approval);
  });

  const group = (member: object): object => ({ approvers: [{ subjects: ['*'], ...member }] });
  const FAULTY: [unknown, string][] = [
    ['x', 'approval'],
    [[], 'approval'],
    [{ risk: 'low' }, 'approval.risk'],
    [{ riskLevel: 'severe' }, 'approval.riskLevel'],
    [{ approvers: [] }, 'approval.approvers'],
    [{ approvers: {} }, 'approval.approvers'],
    [{ approvers: Array.from({ length: 11 }, () => ({ subjects: ['*'] })) }, 'approval.approvers'],
    [{ approvers: ['*'] }, 'approval.approvers[0]'],
    [{ approvers: [{ subjects: ['*'] }, {}] }, 'approval.approvers[1].subjects'],
    [group({ subjects: [] }), 'approval.approvers[0].subjects'],
    [group({ subjects: '*' }), 'approval.approvers[0].subjects'],
    [group({ subjects: Array.from({ length: 101 }, String) }), 'approval.approvers[0].subjects'],
    [group({ subjects: ['*', 'role:'] }), 'approval.approvers[0].subjects[1]'],
    [group({ subjects: ['kind:person'] }), 'approval.approvers[0].subjects[0]'],
    [group({ subjects: ['x'.repeat(501)] }), 'approval.approvers[0].subjects[0]'],
    [group({ approvals: 0 }), 'approval.approvers[0].approvals'],
    [group({ approvals: 11 }), 'approval.approvers[0].approvals'],
    [group({ approvals: '1' }), 'approval.approvers[0].approvals'],
    [group({ given: 0 }), 'approval.approvers[0].given'],
    ...['', 'P', 'PT', 'P1W1D', 'P1Y', 'P1M', 'PT0S', 'P366D', 'PT1.5H', 'p1d', '1d', 86400].map(
      (decideWithin): [unknown, string] => [{ decideWithin }, 'approval.decideWithin'],
    ),
    [{ executeWithin: 'PT' }, 'approval.executeWithin'],
  ];
  it.each(FAULTY)('refuse %j', async (approval, field) => {
    const answer = await create({ approval });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual([field]);
  });

  it.each(['allow', 'deny'])('are the only ones with an approval, unlike %s', async (effect) => {
    expect(Object.keys(faults(await create({ effect, approval: {} })))).toEqual(['approval']);
    expect(await create({ effect, approval: null })).toMatchObject({ status: 201, body: { approval: null } });
  });

  it('have it in their sealed state, and other policies are sealed without it', async () => {
    const sealed = async (id: string): Promise<object> => {
      const { body } = await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`);
      return (await send(app, 'GET', `/api/v1/provenance/${body.data[0].sequence}`)).body.state;
    };
    const { body } = await create({});
    expect(await sealed(body.id)).toMatchObject({ approval: DEFAULTS });
    expect(await sealed((await create({ effect: 'allow' })).body.id)).not.toHaveProperty('approval');
  });

  it('warn about groups that no agent matches, and about groups that machines can fill', async () => {
    await createAgent(app, { name: 'clerk bot', roles: ['finance'] });
    const warningsOf = async (...lists: string[][]): Promise<string[]> => {
      const { body } = await create({ approval: { approvers: lists.map((subjects) => ({ subjects })) } });
      return body.warnings.filter((warning: string) => !/ that no agent has|another reviewer/.test(warning));
    };
    const nobody = ['*', 'agent:*', 'role:*', 'role:finance', 'kind:human', 'carl', 'user:x'];
    expect(await warningsOf(...nobody.map((subject) => [subject]))).toEqual(
      nobody.map((subject, index) => `No active agent matches approval.approvers[${index}] (${subject}).`),
    );
    expect(await warningsOf(['role:finance', 'clerk bot'], ['kind:machine'], ['agent:clerk bot'])).toEqual([
      'Machines can approve for approval.approvers[0] (role:finance, clerk bot).',
      'Machines can approve for approval.approvers[1] (kind:machine).',
      'Machines can approve for approval.approvers[2] (agent:clerk bot).',
    ]);
    const { body: warned } = await create({ approval: { approvers: [{ subjects: ['carl'] }] } });
    const { id } = await createAgent(app, { name: 'carl', kind: 'human', roles: ['finance'] });
    // Later changes do not alter what was said.
    expect((await send(app, 'GET', `${POLICIES}/${warned.id}`)).body.warnings).toEqual(warned.warnings);
    expect(await warningsOf(...nobody.slice(0, 6).map((subject) => [subject]))).toEqual([]);
    expect(await warningsOf([id], ['carl', 'kind:machine'])).toEqual([
      'Machines can approve for approval.approvers[1] (carl, kind:machine).',
    ]);
    await send(app, 'POST', '/api/v1/agents/carl/suspend');
    expect(await warningsOf(['carl'], ['role:finance'])).toEqual([
      'No active agent matches approval.approvers[0] (carl).',
      'No active agent matches approval.approvers[1] (role:finance).',
    ]);
  });

  it('do not restrict reviews: they are ignored when a decision is reviewed', async () => {
    const proposer = await createAgent(app, { name: 'proposer' });
    const reviewer = await createAgent(app, { name: 'reviewer' });
    await createPolicy(app, { effect: 'require_approval', subjects: ['reviewer'], priority: 5 });
    const body = { type: 'a', title: 'b', proposedBy: proposer.id, riskLevel: 'low' };
    const { id } = (await send(app, 'POST', '/api/v1/decisions', { body })).body;
    await createPolicy(app, { effect: 'deny', subjects: ['reviewer'], actions: ['decision:approve'] });
    const review = { body: { approverId: reviewer.id } };
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/approve`, review)).status).toBe(403);
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/reject`, review)).status).toBe(200);
  });

  it.each(['kind:machine', 'agent:*'])(
    'apply to the agents that %s matches, of either kind unless it names one',
    async (subject) => {
      const capabilities = [`pay ${(number += 1)}`];
      const machine = await createAgent(app, { name: `machine ${(number += 1)}`, capabilities });
      const person = await createAgent(app, { name: `person ${number}`, kind: 'human', capabilities });
      await createPolicy(app, { actions: capabilities, subjects: ['*'], priority: 9 });
      await createPolicy(app, { effect: 'require_approval', actions: capabilities, subjects: [subject], priority: 9 });
      const execute = (id: string): Promise<Answer> => {
        const body = { action: capabilities[0], resourceType: 'invoice', resourceId: '7' };
        return send(app, 'POST', `/api/v1/agents/${id}/execute`, { body });
      };
      const isMet = { status: 202, body: { outcome: 'pending_approval' } };
      expect(await execute(machine.id)).toMatchObject(isMet);
      expect(await execute(person.id)).toMatchObject(subject === 'agent:*' ? isMet : { status: 200 });
    },
  );
});
