import type { AgentResponse } from '../../src/agents/dto/agent.response';
import type { DecisionResponse } from '../../src/decisions/dto/decision.response';
import { type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createPolicy, propose } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { DECISIONS, review, startWithReviewers } from './reviewers';

describe('Reviews of decisions under policies', () => {
  let app: TestApp;
  let proposer: AgentResponse;
  let approver: AgentResponse;
  let second: AgentResponse;
  let suspended: AgentResponse;

  beforeAll(async () => {
    ({ app, proposer, approver, second, suspended } = await startWithReviewers());
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const reviewed = (id: string, verdict: string, body?: object): Promise<Answer> => review(app, id, verdict, body);
  const approve = (id: string, approverId: string): Promise<Answer> => reviewed(id, 'approve', { approverId });
  const read = async (id: string): Promise<DecisionResponse> => (await send(app, 'GET', `${DECISIONS}/${id}`)).body;
  const inForce: string[] = [];

  afterEach(async () => {
    for (const id of inForce.splice(0)) await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
  });

  async function policy(body: object): Promise<{ id: string; name: string; version: string }> {
    const { id, name, version } = await createPolicy(app, { effect: 'deny', actions: ['decision:approve'], ...body });
    inForce.push(id);
    return { id, name, version };
  }

  it('need no policy that allows them', async () => {
    const { id } = await propose(app, proposer.id);
    expect((await approve(id, approver.id)).body.status).toBe('approved');
  });

  it('are refused by a policy that denies them, which is named and recorded', async () => {
    const denying = await policy({ subjects: ['role:reviewer'], resources: ['decisions/high/deployment'] });
    const decision = await propose(app, proposer.id, { riskLevel: 'high' });
    const answer = await approve(decision.id, approver.id);
    expect(answer).toMatchObject({
      status: 403,
      body: { error: { code: 'POLICY_DENIED', reason: 'policy_denied' } },
    });
    expect(answer.body.error.policy).toEqual(denying);
    expect(answer.body.error.message).toContain(denying.name);
    expect(await read(decision.id)).toEqual(decision);
    expect((await auditOf(app, decision.id)).at(-1)).toMatchObject({
      action: 'decision.approval_denied',
      agentId: approver.id,
      outcome: 'denied',
      reason: 'policy_denied',
      details: { verdict: 'approve', policies: [denying] },
    });
    expect((await approve(decision.id, second.id)).status).toBe(200);
  });

  it('that reject can be denied separately, except to the holder of the key', async () => {
    const denying = await policy({ actions: ['decision:reject'], subjects: ['agent:approver'] });
    const { id } = await propose(app, proposer.id, { riskLevel: 'medium' });
    expect((await reviewed(id, 'reject', { approverId: approver.id })).body.error.policy).toEqual(denying);
    expect((await auditOf(app, id)).at(-1)).toMatchObject({
      action: 'decision.rejection_denied',
      reason: 'policy_denied',
      details: { verdict: 'reject', policies: [denying] },
    });
    expect((await approve(id, approver.id)).status).toBe(200);
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
    const { id } = await propose(app, proposer.id, { riskLevel, type });
    expect((await approve(id, approver.id)).status).toBe(status);
  });

  it('follow the policy of the highest priority', async () => {
    await policy({ priority: 1 });
    await policy({ effect: 'allow', priority: 2 });
    const { id } = await propose(app, proposer.id);
    expect((await approve(id, approver.id)).status).toBe(200);
  });

  it('are refused for self-approval and suspension before a policy is asked', async () => {
    await policy({});
    const { id } = await propose(app, proposer.id);
    expect((await approve(id, suspended.id)).body.error.reason).toBe('agent_suspended');
    expect((await approve(id, proposer.id)).body.error.reason).toBe('self_approval');
    expect((await approve(id, approver.id)).body.error.reason).toBe('policy_denied');
  });
});
