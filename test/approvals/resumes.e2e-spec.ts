import { createTestApp } from '../support/application/create-test-app';
import { actionsOf, auditOf, chainIsValid, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import {
  approvalStage,
  approved,
  ask,
  company,
  DECISIONS,
  execution,
  EXECUTIONS,
  order,
  pending,
  requireApproval,
  resume,
} from './support';

describe('An approved execution', () => {
  const stage = approvalStage();

  describe('going on', () => {
    it('uses the approval once, and reports the result once', async () => {
      const { id } = await approved(stage.app, stage.people, order());
      const resumed = await resume(stage.app, id);
      expect({ status: resumed.status, outcome: resumed.body.outcome }).toEqual({ status: 200, outcome: 'authorized' });
      const again = await resume(stage.app, id);
      expect({ status: again.status, message: again.body.error.message }).toEqual({
        status: 409,
        message: expect.stringContaining('authorized'),
      });
      const report = (body: object): ReturnType<typeof send> =>
        send(stage.app, 'POST', `${EXECUTIONS}/${id}/result`, { body });
      const reported = await report({ outcome: 'executed', result: { refunded: 80 } });
      expect(reported.body).toMatchObject({
        outcome: 'executed',
        result: { refunded: 80 },
        completedAt: expect.any(String),
      });
      expect((await report({ outcome: 'failed', failureReason: 'x' })).status).toBe(409);
      expect(await actionsOf(stage.app, id)).toEqual([
        'execution.approval_requested',
        'execution.approved',
        'execution.resumed',
        'execution.completed',
      ]);
    });

    it.each([
      [{ outcome: 'executed', failureReason: 'x' }, 'failureReason'],
      [{ outcome: 'failed', result: 1 }, 'result'],
      [{ outcome: 'denied' }, 'outcome'],
      [{ outcome: 'failed', failureReason: 'x'.repeat(2001) }, 'failureReason'],
    ])('refuses the result %j', async (body, field) => {
      const { id } = await approved(stage.app, stage.people, order());
      const refused = await send(stage.app, 'POST', `${EXECUTIONS}/${id}/result`, { body });
      expect(refused.status).toBe(400);
      expect(refused.body.error.details[0].field).toBe(field);
    });

    it('is refused before the approval', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      const refused = await resume(stage.app, request.id);
      expect(refused.status).toBe(409);
      expect(refused.body.error.message).toContain('pending_approval');
    });

    it('is refused after a new deny, for a suspended agent, and recorded', async () => {
      const place = order();
      const { id } = await approved(stage.app, stage.people, place);
      const deny = await createPolicy(stage.app, {
        effect: 'deny',
        actions: ['refund'],
        resources: [place.resourceId],
      });
      const denied = await resume(stage.app, id);
      expect(denied.body.error).toMatchObject({ code: 'POLICY_DENIED', policy: { id: deny.id } });
      await send(stage.app, 'POST', `/api/v1/policies/${deny.id}/deactivate`);
      await send(stage.app, 'POST', `/api/v1/agents/${stage.people.bot.id}/suspend`);
      expect((await resume(stage.app, id)).body.error.reason).toBe('agent_suspended');
      await send(stage.app, 'POST', `/api/v1/agents/${stage.people.bot.id}/resume`);
      expect((await execution(stage.app, id)).outcome).toBe('approved');
      expect((await auditOf(stage.app, id)).slice(2)).toEqual([
        expect.objectContaining({ action: 'execution.resume_denied', outcome: 'denied', reason: 'policy_denied' }),
        expect.objectContaining({ action: 'execution.resume_denied', outcome: 'denied', reason: 'agent_suspended' }),
      ]);
      expect((await resume(stage.app, id)).status).toBe(200);
    });

    it('compares the approval with what the policies require now', async () => {
      const place = order();
      const { id } = await approved(stage.app, stage.people, place);
      const stricter = await requireApproval(
        stage.app,
        { approvers: [{ subjects: ['role:security'] }] },
        { resources: [place.resourceId] },
      );
      const refused = await resume(stage.app, id);
      expect(refused.body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'approval_insufficient' });
      await send(stage.app, 'POST', `/api/v1/policies/${stricter.id}/deactivate`);
      expect((await resume(stage.app, id)).status).toBe(200);
    });

    it('goes on by the policies that allow it by now, whoever approved it', async () => {
      const place = order();
      const { id } = await approved(stage.app, stage.people, place);
      const rules = { resources: [place.resourceId], priority: 1 };
      const { id: allowing } = await createPolicy(stage.app, { ...rules, actions: ['refund'] });
      await send(stage.app, 'POST', `/api/v1/agents/${stage.people.ann.id}/suspend`);
      const resumed = await resume(stage.app, id);
      expect(resumed).toMatchObject({ status: 200, body: { outcome: 'authorized', policies: [{ id: allowing }] } });
      await send(stage.app, 'POST', `/api/v1/agents/${stage.people.ann.id}/resume`);
    });

    it('is refused if no policy matches any more, and recorded', async () => {
      const request = { ...order(), action: 'send' };
      const rules = { actions: ['send'], resources: [request.resourceId] };
      const requiring = await requireApproval(stage.app, {}, rules);
      const { id } = await approved(stage.app, stage.people, request);
      await send(stage.app, 'POST', `/api/v1/policies/${requiring.id}/deactivate`);
      const refused = await resume(stage.app, id);
      expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'no_policy_allows' } } });
      expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
        ...{ action: 'execution.resume_denied', outcome: 'denied', reason: 'no_policy_allows' },
      });
      expect((await execution(stage.app, id)).outcome).toBe('approved');
    });

    it('counts an approval that was given while the approver had the role, but none of a suspended approver', async () => {
      const lost = await company(stage.app, '-lost');
      const { id } = await approved(stage.app, lost, order());
      await send(stage.app, 'PATCH', `/api/v1/agents/${lost.ann.id}`, { body: { roles: [] } });
      await send(stage.app, 'POST', `/api/v1/agents/${lost.ann.id}/suspend`);
      expect((await resume(stage.app, id)).body.error.reason).toBe('approval_insufficient');
      await send(stage.app, 'POST', `/api/v1/agents/${lost.ann.id}/resume`);
      expect((await resume(stage.app, id)).status).toBe(200);
    });

    it('can be cancelled: while it waits, together with its decision; once approved, without it', async () => {
      const request = await pending(stage.app, stage.people.bot, order());
      const cancelled = await send(stage.app, 'POST', `${EXECUTIONS}/${request.id}/cancel`, {
        body: { reason: 'late' },
      });
      expect(cancelled.body.outcome).toBe('cancelled');
      expect((await send(stage.app, 'GET', `${DECISIONS}/${request.decisionId}`)).body.status).toBe('cancelled');
      const ready = await approved(stage.app, stage.people, order());
      expect((await send(stage.app, 'POST', `${EXECUTIONS}/${ready.id}/cancel`)).body.outcome).toBe('cancelled');
      expect((await send(stage.app, 'GET', `${DECISIONS}/${ready.decisionId}`)).body.status).toBe('approved');
      expect((await resume(stage.app, ready.id)).status).toBe(409);
    });

    it('can no longer be cancelled once it has gone on', async () => {
      const { id } = await approved(stage.app, stage.people, order());
      await resume(stage.app, id);
      expect((await send(stage.app, 'POST', `${EXECUTIONS}/${id}/cancel`)).status).toBe(409);
      expect((await execution(stage.app, id)).outcome).toBe('authorized');
    });

    it('succeeds for one of several racing resumes', async () => {
      const { id } = await approved(stage.app, stage.people, order());
      const answers = await Promise.all(Array.from({ length: 200 }, () => resume(stage.app, id)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 199 }, () => 409)]);
    });
  });

  describe('replays', () => {
    it('returns the first answer to a repeated request only while a new one would be allowed', async () => {
      const place = order();
      const headers = { 'Idempotency-Key': 'refund-once' };
      const allow = await createPolicy(stage.app, { actions: ['refund'], resources: [place.resourceId], priority: 3 });
      const first = await ask(stage.app, stage.people.bot, place, headers);
      expect({ status: first.status, outcome: first.body.outcome }).toEqual({ status: 200, outcome: 'authorized' });
      expect((await ask(stage.app, stage.people.bot, place, headers)).body).toEqual(first.body);
      await send(stage.app, 'POST', `/api/v1/policies/${allow.id}/deactivate`);
      const anew = await ask(stage.app, stage.people.bot, place, headers);
      expect({ status: anew.status, outcome: anew.body.outcome }).toEqual({ status: 202, outcome: 'pending_approval' });
      await send(stage.app, 'POST', `/api/v1/policies/${allow.id}/activate`);
      expect((await ask(stage.app, stage.people.bot, place, headers)).body).toEqual(first.body);
    });

    it('refuses a repeated resume that would no longer be allowed', async () => {
      const place = order();
      const { id } = await approved(stage.app, stage.people, place);
      const headers = { 'Idempotency-Key': `resume-${id}` };
      const first = await resume(stage.app, id, headers);
      expect(first.body.outcome).toBe('authorized');
      expect((await resume(stage.app, id, headers)).body).toEqual(first.body);
      const deny = await createPolicy(stage.app, {
        effect: 'deny',
        actions: ['refund'],
        resources: [place.resourceId],
      });
      expect((await resume(stage.app, id, headers)).status).toBe(403);
      expect((await auditOf(stage.app, id)).at(-1)?.action).toBe('execution.resume_denied');
      await send(stage.app, 'POST', `/api/v1/policies/${deny.id}/deactivate`);
      expect((await resume(stage.app, id, headers)).body).toEqual(first.body);
    });

    it('compares the approval of a repeated resume with what the policies require now', async () => {
      const place = order();
      const { id } = await approved(stage.app, stage.people, place);
      const headers = { 'Idempotency-Key': `resume-${id}` };
      const first = await resume(stage.app, id, headers);
      const stricter = await requireApproval(
        stage.app,
        { approvers: [{ subjects: ['role:security'] }] },
        { resources: [place.resourceId] },
      );
      expect((await resume(stage.app, id, headers)).body.error.reason).toBe('approval_insufficient');
      expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
        ...{ action: 'execution.resume_denied', outcome: 'denied', reason: 'approval_insufficient' },
      });
      await send(stage.app, 'POST', `/api/v1/policies/${stricter.id}/deactivate`);
      expect((await resume(stage.app, id, headers)).body).toEqual(first.body);
    });
  });
});

it('An approved execution goes on if no policy matches any more, where that is allowed by default', async () => {
  const app = await createTestApp({ environment: { POLICY_DEFAULT_EFFECT: 'allow' } });
  const people = await company(app);
  const requiring = await requireApproval(app);
  const { id } = await approved(app, people);
  await send(app, 'POST', `/api/v1/policies/${requiring.id}/deactivate`);
  expect(await resume(app, id)).toMatchObject({ status: 200, body: { outcome: 'authorized', policies: [] } });
  await chainIsValid(app);
  await app.close();
});
