import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid } from '../support/application/factories';
import { send } from '../support/application/send';
import { temporaryDatabase } from '../support/database/temporary-database';
import {
  calls,
  createBot,
  createMailApp,
  execute as mail,
  oneRunning,
  oneWaiting,
  release,
} from '../executions/mail.module';
import { createCompany, lift, liftAll, stop, stopping, verdict } from './support';

describe('A stop and running handlers', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createMailApp();
    await createBot(app);
    await send(app, 'PATCH', '/api/v1/agents/bot', { body: { roles: ['mailer'] } });
  });
  afterEach(() => liftAll(app));
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each([
    ['everything', {}],
    ['a role', { role: 'mailer', actions: ['nev*'] }],
  ])('signals them to end when it covers %s', async (_what, scope) => {
    const before = calls.aborted;
    const running = mail(app, 'never');
    await oneRunning(app);
    const { id } = await stop(app, scope);
    const { status, body } = await running;
    expect({ status, ...body }).toMatchObject({
      status: 200,
      outcome: 'failed',
      failureReason: expect.stringContaining(id),
    });
    expect((await auditOf(app, body.id)).at(-1)).toMatchObject({ action: 'execution.completed', reason: 'stopped' });
    while (calls.aborted === before) await sleep(5);
  });

  it('leaves alone those that it does not cover', async () => {
    const { answer } = await oneWaiting(app);
    await stop(app, { role: 'other' });
    await stop(app, { actions: ['never'] });
    release();
    expect((await answer).body.outcome).toBe('executed');
  });
});

describe('A stop and a restart', () => {
  it('goes on after it, until it is lifted', async () => {
    const database = await temporaryDatabase();
    const start = (): Promise<TestApp> => createTestApp({ environment: database.environment });
    const before = await start();
    const company = await createCompany(before);
    const made = await stop(before, { agentId: 'bot' });
    await before.close();
    const after = await start();
    expect([await verdict(after), await verdict(after, 'read', 'other')]).toEqual(['stopped', 'allowed']);
    expect(await stopping(after, { agentId: company.bot.id })).toMatchObject({ status: 200, body: { id: made.id } });
    await lift(after, made);
    expect(await verdict(after)).toBe('allowed');
    await chainIsValid(after);
    await after.close();
    const last = await start();
    expect(await verdict(last)).toBe('allowed');
    await last.close();
    await database.remove();
  });
});
