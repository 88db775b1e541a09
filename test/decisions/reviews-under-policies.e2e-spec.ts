import { auditOf, createPolicy, propose } from '../support/application/factories';
import { send } from '../support/application/send';
import { reviewStage } from './reviewers';

describe('Reviews of decisions under policies', () => {
  const { stage, reviewed, approve, read } = reviewStage();
  const inForce: string[] = [];

  afterEach(async () => {
    for (const id of inForce.splice(0)) await send(stage.app, 'POST', `/api/v1/policies/${id}/deactivate`);
  });

  async function policy(body: object): Promise<{ id: string; name: string; version: string }> {
    const { id, name, version } = await createPolicy(stage.app, {
      effect: 'deny',
      actions: ['decision:approve'],
      ...body,
    });
    inForce.push(id);
    return { id, name, version };
  }

  it('need no policy that allows them', async () => {
    const { id } = await propose(stage.app, stage.proposer.id);
    expect((await approve(id, stage.approver.id)).body.status).toBe('approved');
  });

  it('are refused by a policy that denies them, which is named and recorded', async () => {
    const denying = await policy({ subjects: ['role:reviewer'], resources: ['decisions/high/deployment'] });
    const decision = await propose(stage.app, stage.proposer.id, { riskLevel: 'high' });
    const answer = await approve(decision.id, stage.approver.id);
    expect(answer).toMatchObject({
      status: 403,
      body: { error: { code: 'POLICY_DENIED', reason: 'policy_denied' } },
    });
    expect(answer.body.error.policy).toEqual(denying);
    expect(answer.body.error.message).toContain(denying.name);
    expect(await read(decision.id)).toEqual(decision);
    expect((await auditOf(stage.app, decision.id)).at(-1)).toMatchObject({
      action: 'decision.approval_denied',
      agentId: stage.approver.id,
      outcome: 'denied',
      reason: 'policy_denied',
      details: { verdict: 'approve', policies: [denying] },
    });
    expect((await approve(decision.id, stage.second.id)).status).toBe(200);
  });

  it('that reject can be denied separately, except to the holder of the key', async () => {
    const denying = await policy({ actions: ['decision:reject'], subjects: ['agent:approver'] });
    const { id } = await propose(stage.app, stage.proposer.id, { riskLevel: 'medium' });
    expect((await reviewed(id, 'reject', { approverId: stage.approver.id })).body.error.policy).toEqual(denying);
    expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
      action: 'decision.rejection_denied',
      reason: 'policy_denied',
      details: { verdict: 'reject', policies: [denying] },
    });
    expect((await approve(id, stage.approver.id)).status).toBe(200);
    expect((await reviewed(id, 'reject')).body.status).toBe('rejected');
  });

  it.each([
    [{ resources: ['decisions/high/*'] }, 'high', 'deployment', 403],
    [{ resources: ['decisions/high/*'] }, 'low', 'deployment', 200],
    [{ resources: ['/decisions/low/deployment'] }, 'low', 'deployment', 403],
    [{ resources: ['decisions/low/deployment'] }, 'low', 'Deployment', 200],
    [{ resources: ['decisions/low/caf\u00e9'] }, 'low', 'cafe\u0301', 403],
    [{ resources: ['decisions/low/deployment'] }, 'low', 'deploy%6dent', 403],
    [{ resources: ['decisions/low/a_b_c'] }, 'low', 'a/b/c', 403],
    [{ resources: ['decisions/low/_'] }, 'low', '..', 403],
    [{ resources: ['decisions/low/_'] }, 'low', '.', 403],
    [{ resources: ['decisions/low/*'] }, 'low', '//', 403],
    [{ resources: ['*'], resourceTypes: ['decision'] }, 'low', 'x', 403],
    [{ resources: ['*'], resourceTypes: ['entity'] }, 'low', 'x', 200],
    [{ resources: ['decision/decisions/low/x'] }, 'low', 'x', 403],
    [{ resources: ['*'], actions: ['*'] }, 'low', 'x', 403],
    [{ resources: ['*'], actions: ['approve'] }, 'low', 'x', 200],
  ])('see the resource decisions/<riskLevel>/<type>: %j, %s, %s: %i', async (rules, riskLevel, type, status) => {
    await policy(rules);
    const { id } = await propose(stage.app, stage.proposer.id, { riskLevel, type });
    expect((await approve(id, stage.approver.id)).status).toBe(status);
  });

  it('have no parameters, so policies with conditions are left out', async () => {
    for (const condition of [
      { parameter: '/amount', op: 'gt', value: 5 },
      { parameter: '/amount', op: 'exists', value: false },
    ])
      await policy({ actions: ['*'], conditions: [condition], priority: 9 });
    for (const verdict of ['approve', 'reject'] as const) {
      const { id } = await propose(stage.app, stage.proposer.id);
      expect((await reviewed(id, verdict, { approverId: stage.approver.id })).status).toBe(200);
    }
  });

  it('follow the policy of the highest priority', async () => {
    await policy({ priority: 1 });
    await policy({ effect: 'allow', priority: 2 });
    const { id } = await propose(stage.app, stage.proposer.id);
    expect((await approve(id, stage.approver.id)).status).toBe(200);
  });

  it('are refused for self-approval and suspension before a policy is evaluated', async () => {
    await policy({});
    const { id } = await propose(stage.app, stage.proposer.id);
    expect((await approve(id, stage.suspended.id)).body.error.reason).toBe('agent_suspended');
    expect((await approve(id, stage.proposer.id)).body.error.reason).toBe('self_approval');
    expect((await approve(id, stage.approver.id)).body.error.reason).toBe('policy_denied');
  });
});
