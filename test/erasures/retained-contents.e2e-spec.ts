import { approve, ask, company, pending, reject, requireApproval } from '../approvals/support';
import { RetainedContents } from '../../src/evidence/erasures/retained-contents';
import { LedgerService } from '../../src/ledger/ledger.service';
import type { Lookup } from '../../src/ledger/kinds/lookup';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, createPolicy, propose } from '../support/application/factories';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { type Answer, type Parsed, send } from '../support/application/send';
import { runVerifier } from '../support/processes/run-verifier';

const DAY = 86_400_000;

describe('RETAIN_CONTENT', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { RETAIN_CONTENT: 'P1D', MAX_CLOCK_STEP: String(10 * DAY) } });
  });
  afterEach(async () => {
    await restoreTime();
    await app.close();
  });

  const get = async (path: string): Promise<Parsed> => (await send(app, 'GET', `/api/v1/${path}`)).body;

  it('takes the contents of what is settled once its last entry is that old, and of nothing else', async () => {
    const { bot, ann } = await company(app);
    await requireApproval(app, { decideWithin: 'P30D', executeWithin: 'P30D', grant: { for: 'P10D' } });
    const rejected = await pending(app, bot, { resourceId: 'orders/1' });
    await reject(app, rejected.decisionId, ann, 'Not this one');
    const waiting = await pending(app, bot, { resourceId: 'orders/2' });
    const proposed = await propose(app, bot.id, { title: 'A proposal that is settled' });
    await send(app, 'POST', `/api/v1/decisions/${proposed.id}/cancel`);
    const approved = await pending(app, bot, { resourceId: 'orders/3' });
    await approve(app, approved.decisionId, ann);

    const granted: Parsed[] = [];
    for (const resourceId of ['orders/5', 'orders/6']) {
      const { id, decisionId } = await pending(app, bot, { resourceId });
      const review = { approverId: ann.id, grant: { for: 'P10D' } };
      await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: review });
      await send(app, 'POST', `/api/v1/executions/${id}/cancel`);
      granted.push((await get(`grants?decisionId=${decisionId}`)).data[0]);
    }

    await moveTime(2 * DAY);
    const younger = await pending(app, bot, { resourceId: 'orders/4' });
    await reject(app, younger.decisionId, ann);
    const revoke = (): Promise<Answer> =>
      send(app, 'POST', `/api/v1/grants/${granted[0].id}/revoke`, { headers: { 'Idempotency-Key': 'revoked' } });
    expect((await revoke()).body.resourceId).toBe('orders/5');
    await app.application.get(RetainedContents).eraseOld();

    expect(await get(`executions/${rejected.id}`)).toMatchObject({ erased: true, parameters: {}, resourceId: '' });
    expect(await get(`decisions/${rejected.decisionId}`)).toMatchObject({ erased: true, title: '' });
    expect(await get(`decisions/${proposed.id}`)).toMatchObject({ erased: true, title: '' });
    for (const { id } of [waiting, approved, younger])
      expect(await get(`executions/${id}`)).not.toHaveProperty('erased');
    for (const { id } of granted)
      expect(await get(`grants/${id}`)).toMatchObject({ status: 'revoked', resourceId: '' });
    expect((await revoke()).status).toBe(409);
    const exported = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    expect((await runVerifier(['-'], exported)).output).toMatch(/\nVALID\n$/);
    const erased = (await auditOf(app, rejected.id)).at(-1);
    expect(erased).toMatchObject({
      action: 'execution.erased',
      details: { erasureId: null },
      actor: { type: 'system' },
    });
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0 });
  });

  it('leaves nothing that a condition on what was done before finds, as docs/policies.md warns', async () => {
    const { bot } = await company(app);
    const looks = { earlier: 'refund', within: 'P7D', op: 'exists', value: true };
    await createPolicy(app, { name: 'may', effect: 'allow', actions: ['refund', 'send'] });
    const stay = { name: 'stay', effect: 'deny', actions: ['send'], priority: 1 } as const;
    const { warnings } = await createPolicy(app, { ...stay, conditions: [looks] });
    expect(warnings).toEqual([
      'conditions[0] looks back P7D, but RETAIN_CONTENT erases executions earlier, and then it does not find them: make RETAIN_CONTENT longer, or "within" shorter.',
    ]);
    const asLong = { ...looks, within: 'P1D' };
    expect((await createPolicy(app, { ...stay, name: 'as-long', conditions: [asLong] })).warnings).toEqual([]);
    const statusOf = async (action: string): Promise<number> => (await ask(app, bot, { action })).status;
    expect([await statusOf('refund'), await statusOf('send')]).toEqual([200, 403]);
    await moveTime(2 * DAY);
    expect(await statusOf('send')).toBe(403);
    await app.application.get(RetainedContents).eraseOld();
    expect(await statusOf('send')).toBe(200);
  });

  it('takes nothing whose result was reported since it was found to be old enough', async () => {
    const { bot } = await company(app);
    await createPolicy(app, { effect: 'allow', actions: ['send'] });
    const { id } = (await ask(app, bot, { action: 'send' })).body;
    await moveTime(2 * DAY);
    const ledger = app.application.get(LedgerService);
    const withLookups = ledger.withLookups.bind(ledger);
    jest.spyOn(ledger, 'withLookups').mockImplementationOnce((...lookups: readonly Lookup[]) => ({
      write: async (caller, command, terms) => {
        const body = { outcome: 'executed', result: { sent: true } };
        expect((await send(app, 'POST', `/api/v1/executions/${id}/result`, { body })).status).toBe(200);
        return withLookups(...lookups).write(caller, command, terms);
      },
    }));
    await app.application.get(RetainedContents).eraseOld();
    expect(await get(`executions/${id}`)).toMatchObject({ outcome: 'executed', result: { sent: true } });
    await moveTime(4 * DAY);
    await app.application.get(RetainedContents).eraseOld();
    expect(await get(`executions/${id}`)).toMatchObject({ outcome: 'executed', result: null, erased: true });
  });

  it('takes at most 200 executions and decisions in a commit', async () => {
    const { bot } = await company(app);
    await requireApproval(app);
    for (let count = 0; count < 60; count += 1) {
      const { id } = await pending(app, bot, { resourceId: `many/${count}` });
      await send(app, 'POST', `/api/v1/executions/${id}/cancel`);
    }
    for (let count = 0; count < 100; count += 1) {
      const { id } = await propose(app, bot.id);
      await send(app, 'POST', `/api/v1/decisions/${id}/cancel`);
    }
    await moveTime(4 * DAY);
    const before = (await get('stats')).provenanceEntries;
    await app.application.get(RetainedContents).eraseOld();
    const { data } = await get(`provenance?limit=1000&offset=${before}`);
    // All entries of a commit have one time.
    const sizes = new Map<string, number>();
    for (const { action, timestamp } of data)
      if (/^(execution|decision).erased$/.test(action)) sizes.set(timestamp, (sizes.get(timestamp) ?? 0) + 1);
    expect([...sizes.values()].reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(220);
    expect(Math.max(...sizes.values())).toBeLessThanOrEqual(200);
  });

  it('takes few large records at a time', async () => {
    const { bot } = await company(app);
    const parameters = { text: 'x'.repeat(900_000) };
    await createPolicy(app, { actions: ['send'] });
    for (let count = 0; count < 7; count += 1) await ask(app, bot, { action: 'send', parameters });
    await moveTime(2 * DAY);
    const write = jest.spyOn(app.application.get(LedgerService), 'write');
    await app.application.get(RetainedContents).eraseOld();
    expect(write).toHaveBeenCalledTimes(3);
    write.mockRestore();
    const { data } = await get('executions?limit=10');
    expect(data.map(({ erased }: Parsed) => erased)).toEqual(Array(7).fill(true));
  });
});
