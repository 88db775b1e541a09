import { EXECUTION, type Execution } from '../../../src/governance/executions/execution.entity';
import { type DueSettlement, dueSettlementOf } from '../../../src/ledger/due-settlement';
import type { SqlConnection } from '../../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createEntity, createPolicy } from '../../support/application/factories';
import { type Answer, send } from '../../support/application/send';
import { foreignConnection } from '../../support/database/foreign-connection';

const MAY_READ = {
  name: 'may-read',
  version: '1',
  effect: 'allow',
  subjects: ['*'],
  actions: ['read'],
  resources: ['*'],
};
/**
 * The replay reads what was requested; other statements that look for executions do not. In the databases of other
 * tests, which are made from one template, the table has the same number.
 */
const REPLAYING = `
  SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE NOT granted AND relation = 'executions'::regclass AND query LIKE '%parameters%'
    AND datname = current_database()`;

/** A test can lock the executions, so that a replay takes as long as needed. */
describe('While a plan replays what agents requested', () => {
  let app: TestApp;
  let somebody: SqlConnection;
  /** Another connection: within its transaction, the first one would see the server's activity as it was once. */
  let observer: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    await createPolicy(app, MAY_READ);
    const body = { action: 'read', resourceType: 'doc', resourceId: 'a' };
    expect((await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).status).toBe(200);
    // The settlement would look for executions in a session that others need, and wait for the lock.
    const settlement: DueSettlement<Execution> = app.application.get(dueSettlementOf(EXECUTION), { strict: false });
    await settlement.onModuleDestroy();
    [somebody, observer] = [await foreignConnection(app), await foreignConnection(app)];
  });
  afterAll(async () => {
    await Promise.all([somebody.close(), observer.close()]);
    await app.close();
  });

  const plan = (more: object = {}): Promise<Answer> =>
    send(app, 'POST', '/api/v1/policies/plan', {
      body: { policies: [{ ...MAY_READ, effect: 'deny', version: '2' }], ...more },
    });
  const replay = (): Promise<Answer> => plan({ replay: {} });

  async function untilReplaying(): Promise<void> {
    while ((await observer.all(REPLAYING)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  it('others are answered, plans without replay too, one replay waits, and more are refused', async () => {
    await somebody.run('BEGIN');
    await somebody.run('LOCK TABLE executions IN ACCESS EXCLUSIVE MODE');
    const first = replay();
    await untilReplaying();
    expect(await plan()).toMatchObject({ status: 200, body: { complete: true } });
    const { id } = await createEntity(app);
    expect((await send(app, 'GET', `/api/v1/entities/${id}`)).status).toBe(200);
    const others = [replay(), replay()];
    const refused = await Promise.race(others);
    const { message } = refused.body.error;
    expect([refused.status, message, refused.headers.get('retry-after')]).toEqual([
      503,
      expect.stringContaining('Too many replays'),
      '5',
    ]);
    await somebody.run('ROLLBACK');
    const answers = await Promise.all([first, ...others]);
    const replays = answers.filter((answer) => answer !== refused).map(({ status, body }) => [status, body.replay]);
    const summary = expect.objectContaining({ executions: 1, changed: 1, cut: false });
    expect(replays).toEqual([
      [200, summary],
      [200, summary],
    ]);
  });
});
