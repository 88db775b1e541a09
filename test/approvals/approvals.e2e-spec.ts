import { createHash } from 'node:crypto';
import { createTestApp } from '../support/application/create-test-app';
import { actionsOf, auditOf } from '../support/application/factories';
import { send } from '../support/application/send';
import {
  approvalStage,
  approve,
  approved,
  ask,
  company,
  DECISIONS,
  execution,
  EXECUTIONS,
  order,
  pending,
  REFUND,
  reject,
  requireApproval,
  resume,
} from './support';

/** The RFC 8785 form of an object whose members are already in order. */
function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

describe('Approval before execution', () => {
  const stage = approvalStage();

  describe('asking', () => {
    it('is answered 202 with an execution that waits for its decision', async () => {
      const { bot } = stage.people;
      const answer = await ask(stage.app, bot);
      expect(answer.status).toBe(202);
      expect(answer.headers.get('location')).toBe(`${EXECUTIONS}/${answer.body.id}`);
      const actionHash = hashOf({
        action: 'refund',
        agentId: bot.id,
        parameters: { amount: 80 },
        resourceId: 'orders/4711',
        resourceType: 'payment',
      });
      expect(answer.body).toMatchObject({
        ...REFUND,
        agentId: bot.id,
        outcome: 'pending_approval',
        decisionId: expect.stringMatching(/^dec_/),
        actionHash,
        reason: null,
        approvedUntil: null,
        completedAt: null,
        policies: [{ effect: 'require_approval' }],
      });
      const decision = (await send(stage.app, 'GET', `${DECISIONS}/${answer.body.decisionId}`)).body;
      expect(decision).toMatchObject({
        type: 'execution',
        title: 'bot: refund on payment/orders/4711',
        description: '',
        context: {},
        proposedBy: bot.id,
        riskLevel: 'high',
        status: 'proposed',
        requiredApprovals: 1,
        executionId: answer.body.id,
        actionHash,
        approvers: [{ subjects: ['role:finance'], approvals: 1, given: 0 }],
        executeWithin: 'PT30M',
        expiresAt: new Date(Date.parse(answer.body.createdAt) + 86_400_000).toISOString(),
      });
      const [proposed] = await auditOf(stage.app, decision.id);
      const [requested] = await auditOf(stage.app, answer.body.id);
      expect([proposed?.action, requested?.action]).toEqual(['decision.proposed', 'execution.approval_requested']);
      expect(requested?.sequence).toBe((proposed?.sequence ?? 0) + 1);
    });

    it('again returns the same answer, without an entry, both before and after the approval', async () => {
      const place = order();
      const first = await pending(stage.app, stage.people.bot, place);
      const before = (await send(stage.app, 'GET', '/api/v1/stats')).body.auditEntries;
      const second = await ask(stage.app, stage.people.bot, place);
      expect({ status: second.status, body: second.body }).toEqual({ status: 202, body: first });
      expect((await send(stage.app, 'GET', '/api/v1/stats')).body.auditEntries).toBe(before);
      await approve(stage.app, first.decisionId, stage.people.ann);
      const third = await ask(stage.app, stage.people.bot, place);
      expect(third.status).toBe(202);
      expect(third.body).toMatchObject({ id: first.id, outcome: 'approved' });
    });

    it('says whether it was requested before, and says the same under the same Idempotency-Key', async () => {
      const path = `/api/v1/agents/${stage.people.bot.id}/execute`;
      const body = { ...REFUND, ...order() };
      const keyed = { body, headers: { 'Idempotency-Key': 'asked-first' } };
      for (const [request, expected] of [
        [keyed, 'true'],
        [{ body }, null],
        [keyed, 'true'],
      ] as const) {
        const { status, headers } = await send(stage.app, 'POST', path, request);
        expect([status, headers.get('approval-requested')]).toEqual([202, expected]);
      }
    });

    it('for something with a long name proposes a decision with the beginning of it as its title', async () => {
      const resourceId = `orders/${'\u{1f600}'.repeat(490)}`;
      const { decisionId } = await pending(stage.app, stage.people.bot, { resourceId });
      const { title } = (await send(stage.app, 'GET', `${DECISIONS}/${decisionId}`)).body;
      expect(title).toBe([...`bot: refund on payment/${resourceId}`].slice(0, 500).join(''));
    });

    it('with other parameters is another request', async () => {
      const place = order();
      const first = await pending(stage.app, stage.people.bot, place);
      const other = await pending(stage.app, stage.people.bot, { ...place, parameters: { amount: 81 } });
      expect(other.id).not.toBe(first.id);
      expect(other.actionHash).not.toBe(first.actionHash);
    });

    it('after a rejection is refused, naming the decision', async () => {
      const place = order();
      const request = await pending(stage.app, stage.people.bot, place);
      await reject(stage.app, request.decisionId, stage.people.ann);
      expect(await execution(stage.app, request.id)).toMatchObject({
        outcome: 'rejected',
        completedAt: expect.any(String),
      });
      const again = await ask(stage.app, stage.people.bot, place);
      expect(again.status).toBe(403);
      expect(again.body.error).toMatchObject({
        code: 'PERMISSION_DENIED',
        reason: 'approval_rejected',
        decisionId: request.decisionId,
      });
      const [denied] = (await send(stage.app, 'GET', `${EXECUTIONS}?order=desc&limit=1`)).body.data;
      expect(denied).toMatchObject({
        outcome: 'denied',
        reason: 'approval_rejected',
        decisionId: request.decisionId,
        actionHash: request.actionHash,
      });
    });

    it('more than MAX_PENDING_APPROVALS is 409, with nothing written', async () => {
      const crowd = await company(stage.app, '-crowd');
      for (let count = 0; count < 40; count += 1) await pending(stage.app, crowd.bot, order());
      const before = (await send(stage.app, 'GET', '/api/v1/stats')).body.auditEntries;
      const refused = await ask(stage.app, crowd.bot, order());
      expect(refused.status).toBe(409);
      expect(refused.body.error.message).toContain('MAX_PENDING_APPROVALS');
      expect((await send(stage.app, 'GET', '/api/v1/stats')).body.auditEntries).toBe(before);
    });
  });

  describe('deciding', () => {
    it('is up to the approvers that the policy names', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      const refused = await approve(stage.app, request.decisionId, stage.people.eve);
      expect(refused.status).toBe(403);
      expect(refused.body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'not_an_approver' });
      expect(refused.body.error.message).toContain('role:finance');
      expect((await actionsOf(stage.app, String(request.decisionId))).at(-1)).toBe('decision.approval_denied');
      const decided = await approve(stage.app, request.decisionId, stage.people.ann);
      expect(decided.body).toMatchObject({
        status: 'approved',
        approvers: [{ given: 1 }],
        reviews: [{ approverId: stage.people.ann.id, groups: [0] }],
      });
      const after = await execution(stage.app, request.id);
      expect(after.outcome).toBe('approved');
      const [ofDecision, ofExecution] = await Promise.all(
        [decided.body.id, request.id].map((id) => auditOf(stage.app, id)),
      );
      expect(ofDecision?.at(-1)?.sequence).toBe((ofExecution?.at(-1)?.sequence ?? 0) - 1);
      expect(Date.parse(String(after.approvedUntil)) - Date.parse(decided.body.resolvedAt)).toBe(1_800_000);
    });

    it('is never for the agent of the execution', async () => {
      const own = await createTestApp({ environment: { ALLOW_SELF_APPROVAL: 'true' } });
      try {
        const { bot } = await company(own);
        await requireApproval(own, { approvers: [{ subjects: [`agent:${bot.name}`] }] });
        const request = await pending(own, bot);
        const refused = await approve(own, request.decisionId, bot);
        expect(refused.status).toBe(403);
        expect(refused.body.error.reason).toBe('self_approval');
        const rejected = await reject(own, request.decisionId, bot);
        expect(rejected.body).toMatchObject({ status: 'rejected', reviews: [{ groups: [0] }] });
      } finally {
        await own.close();
      }
    });

    it('counts each reviewer once', async () => {
      const place = order();
      await requireApproval(
        stage.app,
        { approvers: [{ subjects: ['role:finance', 'role:security'], approvals: 2 }, { subjects: ['role:finance'] }] },
        { resources: [place.resourceId], priority: 5 },
      );
      const request = await pending(stage.app, stage.people.bot, place);
      expect((await approve(stage.app, request.decisionId, stage.people.ann)).body.status).toBe('proposed');
      expect((await approve(stage.app, request.decisionId, stage.people.ann)).status).toBe(409);
      expect((await approve(stage.app, request.decisionId, stage.people.ben)).body).toMatchObject({
        status: 'proposed',
        requiredApprovals: 3,
        approvers: [{ given: 2 }, { given: 2 }],
      });
      expect((await approve(stage.app, request.decisionId, stage.people.eve)).body.status).toBe('approved');
    });

    it('by cancelling also cancels the execution, with the reason in both entries', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      const body = { reason: 'not needed' };
      const cancelled = await send(stage.app, 'POST', `${DECISIONS}/${request.decisionId}/cancel`, { body });
      expect(cancelled.body.status).toBe('cancelled');
      const ended = await execution(stage.app, request.id);
      expect(ended.outcome).toBe('cancelled');
      // The reason is in the entries alone.
      expect(JSON.stringify([cancelled.body, ended])).not.toContain(body.reason);
      const ofExecution = (await auditOf(stage.app, request.id)).at(-1);
      expect(ofExecution).toMatchObject({ action: 'execution.cancelled', ...body });
      expect((await auditOf(stage.app, String(request.decisionId))).at(-1)).toMatchObject({
        action: 'decision.cancelled',
        agentId: stage.people.bot.id,
        sequence: (ofExecution?.sequence ?? 0) - 1,
        ...body,
      });
      expect((await send(stage.app, 'POST', `${DECISIONS}/${request.decisionId}/cancel`)).status).toBe(409);
    });
  });

  describe('time', () => {
    it('ends a request without a decision, and an approval that is not used', async () => {
      const [place, other] = [order(), order()];
      await requireApproval(stage.app, { decideWithin: 'PT1S' }, { resources: [place.resourceId], priority: 9 });
      await requireApproval(stage.app, { executeWithin: 'PT1S' }, { resources: [other.resourceId], priority: 9 });
      const request = await pending(stage.app, stage.people.bot, place);
      const waited = await send(stage.app, 'GET', `${EXECUTIONS}/${request.id}?wait=10`);
      expect(waited.body.outcome).toBe('expired');
      expect((await send(stage.app, 'GET', `${DECISIONS}/${request.decisionId}`)).body.status).toBe('expired');
      const ready = await approved(stage.app, stage.people, other);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const late = await resume(stage.app, ready.id);
      expect(late.status).toBe(409);
      expect(await execution(stage.app, ready.id)).toMatchObject({
        outcome: 'expired',
        completedAt: expect.any(String),
      });
      expect((await auditOf(stage.app, ready.id)).at(-1)).toMatchObject({
        action: 'execution.expired',
        actor: { type: 'system', id: 'service' },
      });
      expect((await pending(stage.app, stage.people.bot, other)).id).not.toBe(ready.id);
    });
  });

  describe('waiting', () => {
    it('answers as soon as there is an outcome, for the execution and for the decision', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      const waiting = [`${EXECUTIONS}/${request.id}`, `${DECISIONS}/${request.decisionId}`].map((path) =>
        send(stage.app, 'GET', `${path}?wait=60`),
      );
      await approve(stage.app, request.decisionId, stage.people.ann);
      const [execution, decision] = await Promise.all(waiting);
      expect(execution?.body.outcome).toBe('approved');
      expect(decision?.body.status).toBe('approved');
    });

    it('answers with the current state when the time is over, and at once when there is nothing to wait for', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      expect((await send(stage.app, 'GET', `${EXECUTIONS}/${request.id}?wait=1`)).body.outcome).toBe(
        'pending_approval',
      );
      const done = await approved(stage.app, stage.people, order());
      expect((await send(stage.app, 'GET', `${EXECUTIONS}/${done.id}?wait=60`)).body.outcome).toBe('approved');
    });

    it.each(['0', '61', 'x', '1.5'])('refuses wait=%s', async (wait) => {
      const refused = await send(stage.app, 'GET', `${EXECUTIONS}/exe_1?wait=${wait}`);
      expect(refused.status).toBe(400);
      expect(refused.body.error.details[0].field).toBe('query.wait');
    });
  });
});
