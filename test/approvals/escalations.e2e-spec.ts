import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp } from '../support/application/create-test-app';
import { auditOf, createPolicy, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { approve, company, DECISIONS, order, pending, requireApproval, resume } from './support';

const SOON = 'PT1S';
const TO_SECURITY = { after: SOON, subjects: ['role:security'] };
const ESCALATING = { subjects: ['role:finance'], escalate: TO_SECURITY };

describe('A group of approvers that is not filled in time', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '100' } });
    const people = await company(app);
    const { id } = await requireApproval(app, { approvers: [ESCALATING] });
    return { app, people, policyId: id };
  });

  const waiting = (): Promise<Parsed> => pending(stage.app, stage.people.bot, order());
  const read = async (id: unknown): Promise<Parsed> =>
    (await send(stage.app, 'GET', `${DECISIONS}/${String(id)}`)).body;
  const escalated = async (id: unknown, group = 0): Promise<Parsed> => {
    for (;;) {
      const decision = await read(id);
      if (decision.approvers[group].escalate?.at !== undefined) return decision;
      await sleep(50);
    }
  };
  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.reason ?? body.error?.code];
  const actions = async (id: unknown): Promise<string[]> =>
    (await auditOf(stage.app, String(id))).map(({ action }) => action);

  it('may be filled by the people of its escalation as well, by an entry of the service', async () => {
    const { app, people } = stage;
    const { id, decisionId } = await waiting();
    expect(reasonOf(await approve(app, decisionId, people.eve))).toEqual([403, 'not_an_approver']);
    const decision = await escalated(decisionId);
    const { at } = decision.approvers[0].escalate;
    expect(decision.approvers).toEqual([{ ...ESCALATING, approvals: 1, given: 0, escalate: { ...TO_SECURITY, at } }]);
    expect(Date.parse(at)).toBeGreaterThanOrEqual(Date.parse(decision.createdAt) + 1_000);
    expect((await auditOf(app, decisionId)).at(-1)).toMatchObject({
      action: 'decision.escalated',
      actor: { type: 'system' },
      details: { groups: [0], approvals: 0, requiredApprovals: 1 },
    });
    const { data } = (await send(app, 'GET', `${DECISIONS}/${String(decisionId)}/approvers`)).body;
    const [ann, ben, eve] = [people.ann.id, people.ben.id, people.eve.id];
    expect(data.map(({ agentId, able }: Parsed) => [agentId, able])).toEqual([
      [ann, true],
      [ben, true],
      [eve, true],
    ]);
    expect((await approve(app, decisionId, people.eve)).body).toMatchObject({
      status: 'approved',
      reviews: [{ approverId: eve, groups: [0] }],
    });
    expect((await resume(app, id)).status).toBe(200);
  });

  it('does not escalate once it is filled, and not the other groups', async () => {
    const { app, people } = stage;
    const other = { subjects: ['role:security'], escalate: { after: 'PT2S', subjects: ['role:finance'] } };
    const approvers = [ESCALATING, other, { subjects: ['role:nobody'] }];
    const { id } = await propose(app, people.bot.id, { approvers });
    expect((await approve(app, id, people.ann)).status).toBe(200);
    const decision = await escalated(id, 1);
    expect(decision.approvers.map(({ escalate }: Parsed) => escalate?.at !== undefined)).toEqual([false, true, false]);
    expect((await actions(id)).slice(-2)).toEqual(['decision.reviewed', 'decision.escalated']);
    // One approver of each counts once, whichever group that is.
    expect((await approve(app, id, people.ben)).body).toMatchObject({
      status: 'proposed',
      reviews: [{}, { groups: [0, 1] }],
    });
  });

  it('goes on counting whoever approved by it, also for a grant', async () => {
    const { app, people } = stage;
    const grant = { for: 'PT1H' };
    await createPolicy(app, {
      effect: 'require_approval',
      actions: ['send'],
      approval: { approvers: [ESCALATING], grant },
    });
    const request = { ...order(), action: 'send' };
    const { decisionId } = await pending(app, people.bot, request);
    await escalated(decisionId);
    const body = { approverId: people.eve.id, grant };
    expect((await send(app, 'POST', `${DECISIONS}/${String(decisionId)}/approve`, { body })).body.status).toBe(
      'approved',
    );
    const path = `/api/v1/agents/${people.bot.id}/execute`;
    const again = {
      action: 'send',
      resourceType: 'payment',
      resourceId: request.resourceId,
      parameters: { amount: 80 },
      run: 'x',
    };
    expect((await send(app, 'POST', path, { body: again })).body).toMatchObject({ outcome: 'authorized' });
  });

  it('is written out by a policy, and comes before the end of the decision', async () => {
    const { app } = stage;
    const policy = (members: object): Promise<Answer> =>
      send(app, 'POST', '/api/v1/policies', {
        body: {
          ...{ name: 'escalating', version: '1', effect: 'require_approval', subjects: ['nobody'] },
          ...{ actions: ['x'], resources: ['*'], approval: { approvers: [ESCALATING], ...members } },
        },
      });
    for (const [field, members] of [
      ['approval.approvers[0].escalate.after', { decideWithin: SOON }],
      [
        'approval.approvers[0].escalate.after',
        { approvers: [{ ...ESCALATING, escalate: { ...TO_SECURITY, after: 'P1D' } }] },
      ],
      ['approval.approvers[0].escalate.after', { approvers: [{ ...ESCALATING, escalate: { subjects: ['a'] } }] }],
      ['approval.approvers[0].escalate.subjects', { approvers: [{ ...ESCALATING, escalate: { after: SOON } }] }],
      [
        'approval.approvers[0].escalate.subjects',
        { approvers: [{ ...ESCALATING, escalate: { after: SOON, subjects: [] } }] },
      ],
      [
        'approval.approvers[0].escalate.at',
        { approvers: [{ ...ESCALATING, escalate: { ...TO_SECURITY, at: '2026-11-20T06:18:03.123Z' } }] },
      ],
    ] as const)
      expect(Object.keys(faults(await policy(members)))).toEqual([field]);
    expect((await policy({})).body.approval.approvers).toEqual([{ ...ESCALATING, approvals: 1 }]);
    const late = { approvers: [{ ...ESCALATING, escalate: { ...TO_SECURITY, after: 'PT1H' } }] };
    const expiresAt = new Date(Date.now() + 3_000_000).toISOString();
    const body = { type: 'x', title: 'x', proposedBy: stage.people.bot.id, riskLevel: 'low', expiresAt, ...late };
    expect(Object.keys(faults(await send(app, 'POST', DECISIONS, { body })))).toEqual(['approvers[0].escalate.after']);
  });
});
