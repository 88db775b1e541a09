import { setTimeout as sleep } from 'node:timers/promises';
import type { TestApp } from '../../support/application/create-test-app';
import { auditOf, chainIsValid } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { createMailApp, execute as mail, oneRunning } from '../../executions/mail.module';
import { createCompany, execute, lift, stop, STOPS, verdict } from '../../stops/support';

const ROUNDS = 10;
/** Executions on each replica that race with a stop. */
const RACING = 50;

describe('A stop on several replicas', () => {
  let database: TemporaryDatabase;
  let replicas: readonly [TestApp, TestApp, TestApp];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const environment = { ...database.environment, RATE_LIMIT: '1000000' };
    const start = (): Promise<TestApp> => createMailApp(environment);
    replicas = [await start(), await start(), await start()];
    await createCompany(replicas[0]);
  });
  afterAll(async () => {
    await chainIsValid(replicas[0]);
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  it('is known to all as soon as it is answered, and so is its end', async () => {
    const [first, second, third] = replicas;
    for (let round = 0; round < ROUNDS; round += 1) {
      const made = await stop(first, { agentId: 'bot', reason: `Round ${round}` });
      const body = { agent: 'bot', action: 'read', resourceType: 'file', resourceId: 'files/1' };
      expect((await send(third, 'POST', '/api/v1/policies/evaluate', { body })).body.reason).toBe('stopped');
      expect(await verdict(second)).toBe('stopped');
      await lift(second, made);
      expect((await send(first, 'POST', '/api/v1/policies/evaluate', { body })).body.reason).toBeNull();
      expect(await verdict(third)).toBe('allowed');
    }
  });

  it('has nothing authorised after its entry', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const racing = replicas.flatMap((replica) =>
        Array.from({ length: RACING }, async (_, index) => {
          await sleep(index % 10);
          return execute(replica);
        }),
      );
      await sleep(3);
      const made = await stop(replicas[0], { agentId: 'bot', reason: `Race ${round}` });
      await Promise.all(racing);
      const [entry] = await auditOf(replicas[0], made.id);
      const last = '/api/v1/audit?action=execution.authorized&order=desc&limit=1';
      const [authorized] = (await send(replicas[0], 'GET', last)).body.data;
      expect(authorized?.sequence ?? 0).toBeLessThan(entry?.sequence ?? 0);
      await lift(replicas[1], made);
    }
  });

  it('ends the handlers that another runs, and answers who waits there', async () => {
    const [first, second] = replicas;
    const tag = String((await send(second, 'GET', STOPS)).headers.get('etag'));
    const waiting = send(second, 'GET', `${STOPS}?wait=60`, { headers: { 'If-None-Match': tag } });
    const running = mail(second, 'never');
    await oneRunning(second);
    const made = await stop(first, { role: 'worker', actions: ['never'] });
    expect((await running).body).toMatchObject({ outcome: 'failed', failureReason: expect.stringContaining(made.id) });
    expect((await waiting).body.data[0].id).toBe(made.id);
    await lift(first, made);
  });
});
