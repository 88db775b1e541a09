import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { until } from '../faults/support/watch';
import { decisionFileOf, keyAndLog, verifyFile } from '../evidence/verified-file';

const HOUR = 3_600_000;
const ACTION = { action: 'refund', resourceType: 'charge', resourceId: 'charges/ch_1', via: 'payments' };

describe('An execution that its gateway never reports', () => {
  let app: TestApp;
  let gateway: string;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['refund', 'transfer'] });
    await createAgent(app, { name: 'boss', kind: 'human' });
    await createPolicy(app, { actions: ['refund'] });
    await createPolicy(app, {
      ...{ actions: ['transfer'], effect: 'require_approval' },
      approval: { approvers: [{ subjects: ['agent:boss'] }], decideWithin: 'P1D', executeWithin: 'PT6H' },
    });
    gateway = (await issueKey(app, { scopes: ['report'] })).secret;
  });
  afterAll(async () => {
    await restoreTime();
    await chainIsValid(app);
    await app.close();
  });

  const execute = (body: object): Promise<Answer> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', { body: { ...ACTION, ...body } });
  const outcomeOf = async (id: string): Promise<string> =>
    (await send(app, 'GET', `/api/v1/executions/${id}`)).body.outcome;

  it('ends a day later, and one without a gateway does not', async () => {
    const { id } = (await execute({})).body;
    const { id: alone } = (await execute({ via: undefined })).body;
    await moveTime(23 * HOUR);
    const { id: later } = (await execute({})).body;
    expect(await outcomeOf(id)).toBe('authorized');
    await moveTime(25 * HOUR);
    await until('it has ended', async () => (await outcomeOf(id)) === 'failed');
    expect((await send(app, 'GET', `/api/v1/executions/${id}`)).body).toMatchObject({
      ...{ reason: 'not_reported', via: 'payments', completedAt: expect.any(String) },
    });
    expect((await auditOf(app, id)).at(-1)).toMatchObject({
      ...{ action: 'execution.completed', actor: { type: 'system' }, outcome: 'failed', reason: 'not_reported' },
    });
    expect([await outcomeOf(alone), await outcomeOf(later)]).toEqual(['authorized', 'authorized']);
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(await decisionFileOf(app, { id }), publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: failed as recorded\n$/);
    const { status } = await send(app, 'POST', `/api/v1/executions/${id}/result`, {
      ...{ key: gateway, body: { outcome: 'executed' } },
    });
    expect(status).toBe(409);
    // The outcome is not unknown, so the same action is not refused.
    expect((await execute({})).body.outcome).toBe('authorized');
  });

  it('has a day from the end of its approval', async () => {
    // The time of the ledger never goes back.
    await moveTime(30 * HOUR);
    const { id, decisionId } = (await execute({ action: 'transfer' })).body;
    await moveTime(50 * HOUR);
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId: 'boss' } });
    await moveTime(55 * HOUR);
    const { body } = await send(app, 'POST', `/api/v1/executions/${id}/resume`, { body: {} });
    expect(body.outcome).toBe('authorized');
    const { id: first } = (await execute({})).body;
    await moveTime(79 * HOUR + HOUR / 2);
    await until('a newer one has ended', async () => (await outcomeOf(first)) === 'failed');
    expect(await outcomeOf(id)).toBe('authorized');
    await moveTime(81 * HOUR);
    await until('it has ended', async () => (await outcomeOf(id)) === 'failed');
  });
});
