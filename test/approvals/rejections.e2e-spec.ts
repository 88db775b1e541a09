import type { AgentResponse } from '../../src/governance/agents/dto/agent.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey, propose } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import {
  approve,
  ask,
  company,
  DECISIONS,
  execution,
  order,
  pending,
  reject,
  requireApproval,
  type Company,
} from './support';

const FINANCE = [{ subjects: ['role:finance'], approvals: 1 }];

describe('Reviews of a request for approval', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp();
    people = await company(app);
    await requireApproval(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function keyOf({ id: agentId }: AgentResponse): Promise<string> {
    return (await issueKey(app, { agentId, scopes: ['review'] })).secret;
  }

  function rejectWith(key: string, decisionId: string | null, body: object = {}): Promise<Answer> {
    return send(app, 'POST', `${DECISIONS}/${decisionId}/reject`, { key, body });
  }

  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.reason];

  it('may reject for the agent that made the request, although it is in no group: it cannot repeat the request then', async () => {
    const place = order();
    const { id, decisionId } = await pending(app, people.bot, place);
    const key = await keyOf(people.bot);
    const approval = await send(app, 'POST', `${DECISIONS}/${decisionId}/approve`, { key, body: {} });
    expect(reasonOf(approval)).toEqual([403, 'self_approval']);
    const { status, body } = await rejectWith(key, decisionId, { comment: 'a mistake' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'rejected',
      reviews: [{ approverId: people.bot.id, verdict: 'reject', comment: 'a mistake', groups: [] }],
      approvers: [{ given: 0 }],
    });
    expect((await execution(app, id)).outcome).toBe('rejected');
    expect(reasonOf(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected']);
  });

  it('reach the agent with their words, and the trail with their names', async () => {
    const place = order();
    const { id, decisionId } = await pending(app, people.bot, place);
    expect((await execution(app, id)).rejection).toBeNull();
    await rejectWith(await keyOf(people.ann), decisionId, { comment: 'Not this customer.' });
    const rejection = { comment: 'Not this customer.', instead: null };
    expect((await execution(app, id)).rejection).toEqual(rejection);
    expect((await send(app, 'GET', `/api/v1/executions/${id}?wait=1`)).body.rejection).toEqual(rejection);
    const again = await ask(app, people.bot, place);
    expect(again.body.error).toMatchObject({ reason: 'approval_rejected', decisionId, rejection });
    const other = await pending(app, people.bot, order());
    await approve(app, other.decisionId, people.ben);
    expect((await execution(app, other.id)).rejection).toBeNull();
    const reviewers = [
      [id, 'execution.rejected', people.ann],
      [other.id, 'execution.approved', people.ben],
    ] as const;
    for (const [executionId, action, { id: reviewerId }] of reviewers)
      expect((await auditOf(app, executionId)).at(-1)).toMatchObject({ action, details: { reviewerId } });
  });

  it('may reject for the operator, who is in no group', async () => {
    const { id, decisionId } = await pending(app, people.bot, order());
    const { body } = await reject(app, decisionId);
    expect(body).toMatchObject({ status: 'rejected', reviews: [{ approverId: null, groups: [] }] });
    expect((await execution(app, id)).outcome).toBe('rejected');
  });

  it('may reject for members of a group, and for no other agent: that is on record', async () => {
    const { id, decisionId } = await pending(app, people.bot, order());
    const refused = await rejectWith(await keyOf(people.eve), decisionId);
    expect(reasonOf(refused)).toEqual([403, 'not_an_approver']);
    expect(refused.body.error.message).toContain('1 of role:finance');
    expect((await auditOf(app, String(decisionId))).at(-1)).toMatchObject({
      action: 'decision.rejection_denied',
      outcome: 'denied',
      reason: 'not_an_approver',
      agentId: people.eve.id,
    });
    expect((await execution(app, id)).outcome).toBe('pending_approval');
    const rejected = await rejectWith(await keyOf(people.ben), decisionId);
    expect(rejected.body.reviews).toMatchObject([{ approverId: people.ben.id, groups: [0] }]);
  });

  it('are only for bound callers and the operator; of other decisions, unbound callers may reject, in no group', async () => {
    const { secret } = await issueKey(app, { scopes: ['review'] });
    const { decisionId } = await pending(app, people.bot, order());
    expect(reasonOf(await rejectWith(secret, decisionId))).toEqual([403, 'reviewer_not_bound']);
    const { id } = await propose(app, people.bot.id, { approvers: FINANCE });
    expect((await rejectWith(secret, id)).body).toMatchObject({
      status: 'rejected',
      reviews: [{ approverId: null, groups: [] }],
    });
  });

  it('are refused for the first of several reasons', async () => {
    const { decisionId } = await pending(app, people.bot, order());
    const idle = await createAgent(app, { name: 'idle', kind: 'human', roles: ['security'] });
    const barred = await createAgent(app, { name: 'barred', kind: 'human', roles: ['finance'] });
    for (const { id } of [people.bot, idle, people.eve, barred])
      await createPolicy(app, { effect: 'deny', subjects: [id], actions: ['decision:approve'] });
    await send(app, 'POST', `/api/v1/agents/${idle.id}/suspend`);
    const reasons = [people.bot, idle, people.eve, barred].map(async (who) =>
      reasonOf(await approve(app, decisionId, who)),
    );
    expect(await Promise.all(reasons)).toEqual([
      [403, 'self_approval'],
      [403, 'agent_suspended'],
      [403, 'not_an_approver'],
      [403, 'policy_denied'],
    ]);
    await send(app, 'POST', `/api/v1/agents/${people.bot.id}/suspend`);
    expect(reasonOf(await approve(app, decisionId, people.bot))).toEqual([403, 'self_approval']);
    const ofSuspended = await approve(app, decisionId, people.eve);
    expect(reasonOf(ofSuspended)).toEqual([403, 'agent_suspended']);
    expect(ofSuspended.body.error.message).toContain('"bot"');
    await send(app, 'POST', `/api/v1/agents/${people.bot.id}/resume`);
  });

  it('of somebody whose groups are full count as well, while others are missing', async () => {
    const place = order();
    const approvers = [...FINANCE, { subjects: ['role:security'], approvals: 1 }];
    await requireApproval(app, { approvers }, { resources: [place.resourceId], priority: 1 });
    const { decisionId } = await pending(app, people.bot, place);
    await approve(app, decisionId, people.ann);
    expect((await approve(app, decisionId, people.ben)).body).toMatchObject({
      status: 'proposed',
      requiredApprovals: 2,
      approvers: [{ given: 2 }, { given: 0 }],
    });
  });
});
