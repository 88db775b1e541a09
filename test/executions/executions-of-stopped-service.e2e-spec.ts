import { setTimeout as sleep } from 'node:timers/promises';
import { shutDown } from '../../src/http/server/shutdown';
import { LedgerService } from '../../src/ledger/ledger.service';
import { type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { createBot, createMailApp, execute, oneRunning, oneWaiting, read, release } from './mail.module';

/** More than are read in one chunk. */
const CROWD = 120;

describe('executions whose service stops', () => {
  let database: TemporaryDatabase;
  let environment: TemporaryDatabase['environment'];

  beforeEach(async () => {
    database = await temporaryDatabase();
    ({ environment } = database);
  });
  afterEach(() => database.remove());

  it.each<[string, (app: TestApp) => Promise<void>]>([
    ['is closed', (app) => app.close()],
    ['shuts down', (app) => shutDown(app.application)],
  ])('are answered as running when it %s, and marked at the next start', async (_how, stop) => {
    const first = await createMailApp(environment);
    await createBot(first);
    const answer = execute(first, 'never');
    const running = await oneRunning(first);
    await stop(first);
    expect(await answer).toMatchObject({ status: 200, body: running });
    const next = await createMailApp(environment);
    try {
      const marked = await read(next, running.id);
      expect(marked).toEqual({
        ...running,
        outcome: 'interrupted',
        failureReason: expect.stringMatching(/\.$/),
        completedAt: expect.stringMatching(/Z$/),
      });
      const entries = await auditOf(next, running.id);
      expect(entries.map(({ action }) => action)).toEqual(['execution.authorized', 'execution.interrupted']);
      const details = { ...entries[0]?.details };
      delete details['policySet'];
      delete details['rules'];
      delete details['agentRevision'];
      expect(entries[1]).toMatchObject({
        actor: { type: 'system' },
        agentId: running.agentId,
        outcome: 'failed',
        requestId: null,
        ip: null,
        details,
      });
      await chainIsValid(next);
    } finally {
      await next.close();
    }
    const last = await createMailApp(environment);
    expect(await auditOf(last, running.id)).toHaveLength(2);
    await last.close();
  });

  it('are marked one by one, even if there are many', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const answers = Array.from({ length: CROWD }, () => execute(first, 'never'));
    const total = async (app: TestApp, outcome: string): Promise<number> =>
      (await send(app, 'GET', `/api/v1/executions?outcome=${outcome}&limit=1`)).body.total;
    while ((await total(first, 'running')) < CROWD) await sleep(20);
    await first.close();
    await Promise.all(answers);
    const write = jest.spyOn(LedgerService.prototype, 'write');
    const next = await createMailApp(environment);
    const commands = write.mock.calls.length;
    write.mockRestore();
    expect(await total(next, 'interrupted')).toBe(CROWD);
    expect(commands).toBeGreaterThanOrEqual(CROWD);
    const entries = await send(next, 'GET', '/api/v1/audit?action=execution.interrupted&limit=1');
    expect(entries.body.total).toBe(CROWD);
    await chainIsValid(next);
    await next.close();
  });

  it('are completed when their handler ends in time', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const { answer } = await oneWaiting(first);
    const stopped = shutDown(first.application);
    await sleep(100);
    release();
    expect((await answer).body).toMatchObject({ outcome: 'executed', result: 'released' });
    await stopped;
  });

  it('are followed by ones that the same policies decide after the next start', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const { id } = await createPolicy(first, { name: 'x', version: '1', effect: 'deny', actions: ['nothing'] });
    await createPolicy(first, { name: 'x', version: '2', effect: 'deny', actions: ['echo'] });
    const off = await createPolicy(first, { effect: 'deny', actions: ['echo-too'] });
    await send(first, 'POST', `/api/v1/policies/${off.id}/deactivate`);
    await first.close();
    const next = await createMailApp(environment);
    try {
      expect((await execute(next, 'nothing')).status).toBe(200);
      expect((await execute(next, 'echo-too')).status).toBe(200);
      expect((await execute(next, 'echo')).status).toBe(403);
      await send(next, 'POST', `/api/v1/policies/${id}/activate`);
      expect((await execute(next, 'nothing')).status).toBe(403);
      expect((await execute(next, 'echo')).status).toBe(200);
    } finally {
      await next.close();
    }
  });
});
