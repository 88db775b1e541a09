import { setTimeout as sleep } from 'node:timers/promises';
import { type Decision, DECISION } from '../../src/governance/decisions/decision.entity';
import type { DecisionResponse } from '../../src/governance/decisions/dto/decision.response';
import { type DueSettlement, dueSettlementOf } from '../../src/ledger/due-settlement';
import { RecordReader } from '../../src/ledger/reading/record-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, propose } from '../support/application/factories';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { type Answer, isReplayed, send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const DECISIONS = '/api/v1/decisions';
/** Milliseconds: five times as long as the service may take to settle an expired decision. */
const IN_TIME = 5 * 1_000;
/** Milliseconds: far enough ahead that even a busy machine accepts the proposal in time. */
const SOON = 2_000;
const CROWD = 500;

describe('Expiry of decisions', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let agentId: string;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: database.environment });
    agentId = (await createAgent(app, { name: 'agent' })).id;
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
    await database.remove();
  });

  const inMilliseconds = (delay: number): string => new Date(Date.now() + delay).toISOString();
  const read = async (id: string): Promise<DecisionResponse> => (await send(app, 'GET', `${DECISIONS}/${id}`)).body;
  const reject = (id: string): Promise<Answer> => send(app, 'POST', `${DECISIONS}/${id}/reject`);

  /** Polls until the decision is settled, and returns it. */
  async function settled(id: string): Promise<DecisionResponse> {
    for (;;) {
      const decision = await read(id);
      if (decision.status !== 'proposed') return decision;
      await sleep(20);
    }
  }

  /** From now on only a review notices an expiry. */
  function stopSettling(): Promise<void> {
    const settlement: DueSettlement<Decision> = app.application.get(dueSettlementOf(DECISION), { strict: false });
    return settlement.onModuleDestroy();
  }

  /** The clock shows that time now, and continues from there. */
  function turnClockTo(time: string): Promise<void> {
    return moveTime(Date.parse(time) - Date.now());
  }

  function expectExpired(decision: DecisionResponse, proposed: DecisionResponse): void {
    const { resolvedAt } = decision;
    expect(decision).toEqual(Object.assign({}, proposed, { status: 'expired', updatedAt: resolvedAt, resolvedAt }));
    expect(String(resolvedAt) >= String(decision.expiresAt)).toBe(true);
  }

  it('is settled by the service itself in time, with its own entry', async () => {
    const proposed = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
    const decision = await settled(proposed.id);
    expectExpired(decision, proposed);
    expect(Date.parse(String(decision.resolvedAt)) - Date.parse(String(decision.expiresAt))).toBeLessThan(IN_TIME);
    const entries = await auditOf(app, proposed.id);
    expect(entries.map(({ action }) => action)).toEqual(['decision.proposed', 'decision.expired']);
    expect(entries[1]).toMatchObject({
      actor: { type: 'system', id: 'service' },
      agentId: null,
      outcome: 'success',
      reason: null,
      details: { expiresAt: proposed.expiresAt, approvals: 0, requiredApprovals: 1 },
      requestId: null,
      ip: null,
    });
  });

  it('does not change a decision that was settled before', async () => {
    const { id, expiresAt } = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
    const rejected = (await reject(id)).body;
    await sleep(Date.parse(String(expiresAt)) - Date.now() + 500);
    expect(await read(id)).toEqual(rejected);
  });

  it('is settled after a restart for decisions that expired in between', async () => {
    const proposed = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
    await app.close();
    await sleep(SOON);
    app = await createTestApp({ environment: database.environment });
    expectExpired(await settled(proposed.id), proposed);
  });

  it('is settled in time for many decisions at once', async () => {
    const expiresAt = inMilliseconds(3_600_000);
    await Promise.all(Array.from({ length: CROWD }, () => propose(app, agentId, { expiresAt })));
    await turnClockTo(expiresAt);
    try {
      const count = async (): Promise<number> =>
        (await send(app, 'GET', `${DECISIONS}?status=expired&limit=1`)).body.total;
      while ((await count()) < CROWD) await sleep(20);
    } finally {
      await restoreTime();
    }
    const { data } = (await send(app, 'GET', `${DECISIONS}?limit=1000`)).body;
    const times: number[] = data.map(({ resolvedAt }: DecisionResponse) => Date.parse(String(resolvedAt)));
    expect(Math.max(...times) - Date.parse(expiresAt)).toBeLessThan(IN_TIME);
  });

  it('reads those that are due a few at a time, each once, the earliest first', async () => {
    const ids: string[] = [];
    for (let minutes = 12; minutes > 0; minutes -= 1) {
      ids.unshift((await propose(app, agentId, { expiresAt: inMilliseconds(minutes * 60_000) })).id);
    }
    await propose(app, agentId, { expiresAt: inMilliseconds(13 * 60_000) });
    await reject((await propose(app, agentId, { expiresAt: inMilliseconds(60_000) })).id);
    const chunks: string[][] = [];
    const now = inMilliseconds(12 * 60_000);
    for await (const chunk of app.application.get(RecordReader).due(DECISION, now, 10)) chunks.push(chunk);
    expect(chunks.map(({ length }) => length)).toEqual([10, 2]);
    expect(chunks.flat()).toEqual(ids);
  });

  it('reads decisions that expire at the same moment in chunks, none twice', async () => {
    const expiresAt = inMilliseconds(60_000);
    const ids = (await Promise.all(Array.from({ length: 5 }, () => propose(app, agentId, { expiresAt })))).map(
      ({ id }) => id,
    );
    const chunks: string[][] = [];
    for await (const chunk of app.application.get(RecordReader).due(DECISION, expiresAt, 2)) chunks.push(chunk);
    expect(chunks.map(({ length }) => length)).toEqual([2, 2, 1]);
    expect(chunks.flat()).toEqual(ids.sort());
  });

  describe('that a late review notices', () => {
    it.each(['approve', 'reject'])('is recorded, and the %s is refused with 409', async (verdict) => {
      await stopSettling();
      const proposed = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
      await sleep(SOON + 10);
      const { id: approverId } = await createAgent(app, { name: 'approver' });
      expect((await read(proposed.id)).status).toBe('proposed');
      const answer = await send(app, 'POST', `${DECISIONS}/${proposed.id}/${verdict}`, { body: { approverId } });
      expect(answer).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
      expectExpired(await read(proposed.id), proposed);
      const entries = await auditOf(app, proposed.id);
      expect(entries.map(({ action }) => action)).toEqual(['decision.proposed', 'decision.expired']);
      expect(entries[1]).toMatchObject({
        actor: { type: 'system', id: 'service' },
        agentId: null,
        requestId: answer.headers.get('x-request-id'),
      });
      expect((await reject(proposed.id)).status).toBe(409);
      expect(await auditOf(app, proposed.id)).toHaveLength(2);
    });

    it('is reported again, in the same words, when the review is repeated under its idempotency key', async () => {
      await stopSettling();
      const { id } = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
      await sleep(SOON + 10);
      const headers = { 'Idempotency-Key': 'late' };
      const [first, again] = [
        await send(app, 'POST', `${DECISIONS}/${id}/reject`, { headers }),
        await send(app, 'POST', `${DECISIONS}/${id}/reject`, { headers }),
      ];
      expect([first.status, isReplayed(first)]).toEqual([409, false]);
      expect([again.status, again.text, isReplayed(again)]).toEqual([409, first.text, true]);
      expect(await auditOf(app, id)).toHaveLength(2);
    });

    it('is settled once by many late reviews', async () => {
      await stopSettling();
      const { id } = await propose(app, agentId, { expiresAt: inMilliseconds(SOON) });
      await sleep(SOON + 10);
      const answers = await Promise.all(Array.from({ length: 10 }, () => reject(id)));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 409));
      expect(await auditOf(app, id)).toHaveLength(2);
    });
  });
});
