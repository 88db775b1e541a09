import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createPolicy } from '../support/application/factories';
import { type Answer, type Parsed, send } from '../support/application/send';
import { moveTime, restoreTime } from '../support/database/moved-time';
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
  reject,
  requireApproval,
  type Company,
} from './support';

const DAY = 86_400_000;
const FINANCE = { subjects: ['role:finance', 'role:treasury'], approvals: 1 };
const SECURITY = { subjects: ['role:security'], approvals: 1 };

describe('Asking again', () => {
  let app: TestApp;
  let people: Company;

  beforeAll(async () => {
    app = await createTestApp();
    people = await company(app);
  });
  afterEach(() => restoreTime());
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  let versions = 0;
  /** Requires this approval of a resource; a later call replaces it. */
  async function requireNow(approval: object, { resourceId }: { readonly resourceId: string }): Promise<void> {
    versions += 1;
    await requireApproval(
      app,
      { ...approval },
      { name: resourceId, version: String(versions), resources: [resourceId] },
    );
  }

  const decision = async (id: string | null): Promise<Parsed> => (await send(app, 'GET', `${DECISIONS}/${id}`)).body;
  const entries = async (): Promise<number> => (await send(app, 'GET', '/api/v1/stats')).body.auditEntries;
  const refusedBy = ({ status, body }: Answer): unknown[] => [status, body.error?.reason, body.error?.decisionId];

  /** The clock shows that time now, and continues from there. */
  async function turnClockTo(time: number): Promise<void> {
    await restoreTime();
    await moveTime(time - Date.now());
  }

  describe('after the policies have changed', () => {
    const REWORDED: readonly [what: string, approval: object][] = [
      [
        'groups and subjects in another order',
        { approvers: [SECURITY, { ...FINANCE, subjects: ['role:treasury', 'role:finance'] }] },
      ],
      ['a subject twice', { approvers: [{ ...FINANCE, subjects: [...FINANCE.subjects, 'role:finance'] }, SECURITY] }],
      [
        'another risk and other durations',
        { approvers: [FINANCE, SECURITY], riskLevel: 'critical', decideWithin: 'P2D', executeWithin: 'PT1M' },
      ],
    ];

    it.each(REWORDED)(
      'is answered with the request that there is, for the same approvers: %s',
      async (_what, approval) => {
        const place = order();
        await requireNow({ approvers: [FINANCE, SECURITY] }, place);
        const first = await pending(app, people.bot, place);
        await requireNow(approval, place);
        const before = await entries();
        const again = await ask(app, people.bot, place);
        expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: first });
        expect(await entries()).toBe(before);
      },
    );

    const CHANGED: readonly [what: string, approvers: readonly object[]][] = [
      ['one group more', [FINANCE, SECURITY, { subjects: ['eve'] }]],
      ['one group less', [FINANCE]],
      ['one subject more', [{ ...FINANCE, subjects: [...FINANCE.subjects, 'eve'] }, SECURITY]],
      ['one subject less', [{ ...FINANCE, subjects: ['role:finance'] }, SECURITY]],
      ['a larger number', [{ ...FINANCE, approvals: 2 }, SECURITY]],
    ];

    it.each(CHANGED)('is another request, for other approvers: %s', async (_what, approvers) => {
      const place = order();
      await requireNow({ approvers: [FINANCE, SECURITY] }, place);
      const first = await pending(app, people.bot, place);
      await requireNow({ approvers }, place);
      const other = await pending(app, people.bot, place);
      expect(other.id).not.toBe(first.id);
      expect(other.decisionId).not.toBe(first.decisionId);
      expect(other.actionHash).toBe(first.actionHash);
      expect((await ask(app, people.bot, place)).body.id).toBe(other.id);
      expect((await execution(app, first.id)).outcome).toBe('pending_approval');
      await requireNow({ approvers: [FINANCE, SECURITY] }, place);
      expect((await ask(app, people.bot, place)).body.id).toBe(first.id);
    });

    it('does not return an approval by other approvers', async () => {
      const place = order();
      await requireNow({ approvers: [FINANCE] }, place);
      const request = await approved(app, people, place);
      await requireNow({ approvers: [SECURITY] }, place);
      expect((await pending(app, people.bot, place)).id).not.toBe(request.id);
    });

    it('returns the newest of several that have the same approvers', async () => {
      const place = order();
      await requireNow({ approvers: [FINANCE] }, place);
      const first = await approved(app, people, place);
      await requireNow({ approvers: [SECURITY] }, place);
      const second = await pending(app, people.bot, place);
      expect((await approve(app, second.decisionId, people.eve)).body.status).toBe('approved');
      expect((await ask(app, people.bot, place)).body).toMatchObject({ id: second.id, outcome: 'approved' });
      await requireNow({ approvers: [FINANCE] }, place);
      expect((await ask(app, people.bot, place)).body).toMatchObject({ id: first.id, outcome: 'approved' });
    });
  });

  it('settles a request that is over, and begins another', async () => {
    const place = order();
    await requireNow({ approvers: [FINANCE], decideWithin: 'PT1H' }, place);
    const first = await pending(app, people.bot, place);
    await turnClockTo(Date.parse((await decision(first.decisionId)).expiresAt));
    const second = await pending(app, people.bot, place);
    expect(second.id).not.toBe(first.id);
    const actions = async (id: string): Promise<string[]> => (await auditOf(app, id)).map(({ action }) => action);
    expect((await execution(app, first.id)).outcome).toBe('expired');
    expect((await actions(String(first.decisionId))).at(-1)).toBe('decision.expired');
    expect((await actions(first.id)).at(-1)).toBe('execution.expired');
  });

  it('is not stopped by requests of any kind that are over and not settled yet', async () => {
    const few = await createTestApp({ environment: { MAX_PENDING_APPROVALS: '3' } });
    try {
      const { bot } = await company(few);
      await requireApproval(few, { decideWithin: 'PT1H' });
      const plain = { type: 'deployment', title: 'A release', proposedBy: bot.id, riskLevel: 'low' };
      await send(few, 'POST', DECISIONS, { body: plain });
      const first = await pending(few, bot, order());
      const { expiresAt } = (await send(few, 'GET', `${DECISIONS}/${first.decisionId}`)).body;
      await turnClockTo(Date.parse(expiresAt) - 60_000);
      for (let count = 1; count < 3; count += 1) await pending(few, bot, order());
      expect((await ask(few, bot, order())).status).toBe(409);
      await turnClockTo(Date.parse(expiresAt));
      await pending(few, bot, order());
      expect((await ask(few, bot, order())).status).toBe(409);
      await chainIsValid(few);
    } finally {
      await few.close();
    }
  });

  it('settles an approval that was not used in time, and begins another', async () => {
    const place = order();
    await requireNow({ approvers: [FINANCE], executeWithin: 'PT1H' }, place);
    const first = await approved(app, people, place);
    await turnClockTo(Date.parse(String(first.approvedUntil)));
    expect((await pending(app, people.bot, place)).id).not.toBe(first.id);
    expect((await execution(app, first.id)).outcome).toBe('expired');
    expect((await auditOf(app, first.id)).at(-1)?.action).toBe('execution.expired');
  });

  describe('after a rejection', () => {
    async function rejected(approval: object): Promise<{ place: { resourceId: string }; decisionId: string | null }> {
      const place = order();
      await requireNow(approval, place);
      const { decisionId } = await pending(app, people.bot, place);
      expect((await reject(app, decisionId, people.ann)).body.status).toBe('rejected');
      return { place, decisionId };
    }

    it('is refused until the decision would have expired', async () => {
      const { place, decisionId } = await rejected({ approvers: [FINANCE], decideWithin: 'PT2H' });
      const end = Date.parse((await decision(decisionId)).expiresAt);
      await turnClockTo(end - 60_000);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
      await turnClockTo(end);
      await pending(app, people.bot, place);
    });

    it('is refused for a day at most', async () => {
      const { place, decisionId } = await rejected({ approvers: [FINANCE], decideWithin: 'P30D' });
      const end = Date.parse((await decision(decisionId)).resolvedAt) + DAY;
      await turnClockTo(end - 60_000);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
      await turnClockTo(end);
      await pending(app, people.bot, place);
    });

    it('is refused with any approvers that the policies require by then', async () => {
      const { place, decisionId } = await rejected({ approvers: [FINANCE] });
      await requireNow({ approvers: [SECURITY] }, place);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
    });

    it('comes before a request that has the required approvers and still waits', async () => {
      const place = order();
      await requireNow({ approvers: [SECURITY] }, place);
      await pending(app, people.bot, place);
      await requireNow({ approvers: [FINANCE] }, place);
      const { decisionId } = await pending(app, people.bot, place);
      await reject(app, decisionId, people.ann);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
      await requireNow({ approvers: [SECURITY] }, place);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
    });

    it('is answered by an allow or a deny as always', async () => {
      const { place, decisionId } = await rejected({ approvers: [FINANCE] });
      const rule = { actions: ['refund'], resources: [place.resourceId], priority: 1 };
      const allow = await createPolicy(app, rule);
      expect((await ask(app, people.bot, place)).body.outcome).toBe('authorized');
      await send(app, 'POST', `/api/v1/policies/${allow.id}/deactivate`);
      const deny = await createPolicy(app, { ...rule, effect: 'deny' });
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'policy_denied', undefined]);
      await send(app, 'POST', `/api/v1/policies/${deny.id}/deactivate`);
      expect(refusedBy(await ask(app, people.bot, place))).toEqual([403, 'approval_rejected', decisionId]);
    });

    it('is refused on record, and only this agent for exactly this action', async () => {
      const { place, decisionId } = await rejected({ approvers: [FINANCE] });
      await ask(app, people.bot, place);
      const query = `${EXECUTIONS}?decisionId=${decisionId}&outcome=denied`;
      const [denied, ...others] = (await send(app, 'GET', query)).body.data;
      expect(others).toEqual([]);
      expect(await auditOf(app, denied.id)).toMatchObject([
        { action: 'execution.denied', outcome: 'denied', reason: 'approval_rejected' },
      ]);
      const { bot: other } = await company(app, `-${place.resourceId.replace('/', '-')}`);
      expect((await ask(app, other, place)).status).toBe(202);
      expect((await ask(app, people.bot, { ...place, parameters: { amount: 81 } })).status).toBe(202);
    });

    it('is possible at once after the request was cancelled', async () => {
      const place = order();
      await requireNow({ approvers: [FINANCE] }, place);
      const first = await pending(app, people.bot, place);
      await send(app, 'POST', `${EXECUTIONS}/${first.id}/cancel`);
      expect((await pending(app, people.bot, place)).id).not.toBe(first.id);
    });
  });
});
