import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import {
  approve,
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
  type Company,
} from './support';

type ResourcePart = Pick<ExecutionResponse, 'resourceId'>;

/** Different groups of approvers. */
function groups(count: number, approvals: number, name = 'group'): object[] {
  return Array.from({ length: count }, (_, index) => ({ subjects: [`role:${name} ${index}`], approvals }));
}

describe('What policies require', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp();
    people = await company(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  /** Requires approvals for a resource, by a policy for every ten groups, which is the most that a policy has. */
  async function requireOf(
    { resourceId }: ResourcePart,
    approvers: readonly object[],
    more: object = {},
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let first = 0; first < approvers.length; first += 10) {
      const approval = { approvers: approvers.slice(first, first + 10), ...more };
      ids.push((await requireApproval(app, approval, { resources: [resourceId] })).id);
    }
    return ids;
  }

  async function deactivate(ids: readonly string[]): Promise<void> {
    for (const id of ids) await send(app, 'POST', `/api/v1/policies/${id}/deactivate`);
  }

  const decision = async (id: string | null): Promise<Parsed> => (await send(app, 'GET', `${DECISIONS}/${id}`)).body;
  const reasonOf = ({ status, body }: Answer): unknown[] => [status, body.error?.code, body.error?.reason];

  describe('when an action is requested', () => {
    it.each([
      ['50 groups', groups(50, 1), 50, 50],
      ['200 approvals', groups(20, 10), 20, 200],
      ['50 groups, each named twice', [...groups(50, 1), ...groups(50, 2)], 50, 100],
    ])('may be %s', async (_what, approvers, length, requiredApprovals) => {
      const place = order();
      await requireOf(place, approvers);
      const request = await pending(app, people.bot, place);
      const proposed = await decision(request.decisionId);
      expect(proposed).toMatchObject({ requiredApprovals, approvers: { length } });
    });

    it.each([
      ['51 groups', groups(51, 1)],
      ['201 approvals', [...groups(20, 10), ...groups(1, 1, 'other')]],
    ])('must not be %s: that is a refusal, on record', async (_what, approvers) => {
      const place = order();
      await requireOf(place, approvers);
      expect(reasonOf(await ask(app, people.bot, place))).toEqual([403, 'PERMISSION_DENIED', 'approval_too_large']);
      const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${encodeURIComponent(place.resourceId)}`))
        .body;
      expect(data).toMatchObject([{ outcome: 'denied', reason: 'approval_too_large', decisionId: null }]);
      expect(await auditOf(app, data[0].id)).toMatchObject([
        { action: 'execution.denied', outcome: 'denied', reason: 'approval_too_large' },
      ]);
    });
  });

  describe('when an approval is used', () => {
    async function approvedOne(
      approvers: readonly object[],
      place = order(),
    ): Promise<{ id: string; place: ResourcePart; policies: string[] }> {
      const policies = await requireOf(place, approvers);
      return { id: (await approved(app, people, place)).id, place, policies };
    }

    it.each([
      ['51 groups', groups(51, 1)],
      ['201 approvals', groups(20, 10)],
    ])('must not be %s by then: that is on record, and leaves the approval as it is', async (_what, approvers) => {
      const { id, place } = await approvedOne([{ subjects: ['role:finance'] }]);
      const added = await requireOf(place, approvers);
      expect(reasonOf(await resume(app, id))).toEqual([403, 'PERMISSION_DENIED', 'approval_too_large']);
      expect((await auditOf(app, id)).at(-1)).toMatchObject({
        action: 'execution.resume_denied',
        outcome: 'denied',
        reason: 'approval_too_large',
      });
      expect((await execution(app, id)).outcome).toBe('approved');
      await deactivate(added);
      expect((await resume(app, id)).body.outcome).toBe('authorized');
    });

    it('counts what reviewers were, for the groups of the decision, in any order of a policy', async () => {
      const lost = await createAgent(app, { name: 'lost', kind: 'human', roles: ['treasury'] });
      const place = order();
      const before = await requireOf(place, [
        { subjects: ['role:finance', 'role:treasury'] },
        { subjects: ['role:security'] },
      ]);
      const request = await pending(app, people.bot, place);
      await approve(app, request.decisionId, lost);
      await approve(app, request.decisionId, people.eve);
      await send(app, 'PATCH', `/api/v1/agents/${lost.id}`, { body: { roles: [] } });
      await deactivate(before);
      await requireOf(place, [{ subjects: ['role:security'] }, { subjects: ['role:treasury', 'role:finance'] }]);
      expect((await resume(app, request.id)).body.outcome).toBe('authorized');
    });

    it('counts what reviewers are now, for other groups', async () => {
      const promoted = await company(app, '-promoted');
      const place = order();
      const before = await requireOf(place, [{ subjects: ['role:finance'] }]);
      const { id } = await approved(app, promoted, place);
      await deactivate(before);
      await requireOf(place, [{ subjects: ['role:board'] }]);
      expect(reasonOf(await resume(app, id))).toEqual([403, 'PERMISSION_DENIED', 'approval_insufficient']);
      await send(app, 'PATCH', `/api/v1/agents/${promoted.ann.id}`, { body: { roles: ['board'] } });
      expect((await resume(app, id)).body.outcome).toBe('authorized');
    });

    it('must be no more than was approved: a larger number is not met', async () => {
      const { id, place } = await approvedOne([{ subjects: ['role:finance'] }]);
      const added = await requireOf(place, [{ subjects: ['role:finance'], approvals: 2 }]);
      expect(reasonOf(await resume(app, id))).toEqual([403, 'PERMISSION_DENIED', 'approval_insufficient']);
      await deactivate(added);
      expect((await resume(app, id)).body.outcome).toBe('authorized');
    });

    it('may be less than was approved', async () => {
      const place = order();
      const before = await requireOf(place, [
        { subjects: ['role:finance'], approvals: 2 },
        { subjects: ['role:security'] },
      ]);
      const request = await pending(app, people.bot, place);
      for (const person of [people.ann, people.ben, people.eve]) await approve(app, request.decisionId, person);
      await deactivate(before);
      await requireOf(place, [{ subjects: ['role:finance'] }]);
      expect((await resume(app, request.id)).body.outcome).toBe('authorized');
    });

    it('may be of another risk, with other durations', async () => {
      const { id, place, policies } = await approvedOne([{ subjects: ['role:finance'] }]);
      await deactivate(policies);
      await requireOf(place, [{ subjects: ['role:finance'] }], { riskLevel: 'critical', executeWithin: 'PT1S' });
      expect((await resume(app, id)).body.outcome).toBe('authorized');
    });
  });
});
