import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { createAgent, createEntity, createPolicy } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { ROOT } from '../support/documents/markdown';
import { send, type Answer } from '../support/application/send';
import { ProgramEnded, startProgram } from '../support/processes/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const NO_LISTS = ['[broken', '"*"', '{}', 'null', '[1]', '[null]'];

/** The application is closed once, by the test or after it. */
function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= act());
}

/** Rows that somebody else, or a faulty disk, has changed to something that the service never writes. */
describe('A row with an impossible value that rules depend on', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let stop: () => Promise<void>;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await start();
    stop = once(() => app.close());
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    await createPolicy(app, { name: 'all' });
  });
  afterEach(async () => {
    await stop();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    return createTestApp({ environment: database.environment });
  }

  async function alter(table: string, column: string, value: string, id: string): Promise<void> {
    const foreign = await foreignConnection(app);
    await foreign.run(`UPDATE "${table}" SET "${column}" = $1 WHERE "id" = $2`, [value, id]);
    await foreign.close();
  }

  function execute(): Promise<Answer> {
    const body = { action: 'read', resourceType: 'file', resourceId: 'secret/a' };
    return send(app, 'POST', '/api/v1/agents/bot/execute', { body });
  }

  it.each([
    ...['denny', 'DENY', ''].map((value) => ['effect', value]),
    ...NO_LISTS.map((value) => ['resources', value]),
    ...['subjects', 'actions', 'resourceTypes'].map((list) => [list, '{}']),
    // PostgreSQL accepts only integers in such a column.
    ...(onPostgres ? [] : [['priority', 'high']]),
  ])('prevents the start if it is a policy in force with %s %j, so that no deny is skipped', async (column, value) => {
    const { id } = await createPolicy(app, { name: 'no secrets', effect: 'deny', resources: ['secret/*'] });
    expect((await execute()).status).toBe(403);
    await alter('policies', column, value, id);
    await stop();
    await expect(start()).rejects.toThrow(
      new RegExp(`The database was altered: the row ${id} of the table policies .* ${column}`),
    );
  });

  it('ends the process with exit code 65 and one line', async () => {
    const { id } = await createPolicy(app, { name: 'no secrets', effect: 'deny', resources: ['secret/*'] });
    await alter('policies', 'effect', 'denny', id);
    await stop();
    const ended: unknown = await startProgram(join(ROOT, 'dist', 'main.js'), database.environment).catch(
      (error: unknown) => error,
    );
    expect(ended).toBeInstanceOf(ProgramEnded);
    const { exitCode, printed } = ended as ProgramEnded;
    expect(exitCode).toBe(65);
    expect(printed.trim()).toBe(
      `The database was altered: the row ${id} of the table policies holds none of allow, require_approval, deny in effect. ` +
        'Verify it with npm run verify, and restore it from a backup.',
    );
  });

  it('is not activated if it is a policy', async () => {
    const { id } = await createPolicy(app, { name: 'p', version: '1', effect: 'deny', resources: ['secret/*'] });
    const { id: later } = await createPolicy(app, { name: 'p', version: '2', effect: 'deny', resources: ['secret/*'] });
    await alter('policies', 'resources', '{}', id);
    expect((await send(app, 'POST', `/api/v1/policies/${id}/activate`)).status).toBe(500);
    expect((await send(app, 'GET', `/api/v1/policies/${later}`)).body.status).toBe('active');
    expect((await execute()).status).toBe(403);
  });

  it.each<[column: string, values: readonly string[]]>([
    ['capabilities', [...NO_LISTS, '"read all"']],
    ['roles', NO_LISTS],
    ['status', ['Suspended', '']],
  ])('authorizes nothing where it is an agent with other %s, and holds up nobody else', async (column, values) => {
    const { id } = (await send(app, 'GET', '/api/v1/agents/bot')).body;
    expect((await execute()).status).toBe(200);
    for (const value of values) {
      await alter('agents', column, value, id);
      const [first, second] = await Promise.all([execute(), execute(), createEntity(app), createEntity(app)]);
      expect([value, first.status, second.status]).toEqual([value, 500, 500]);
    }
    expect((await send(app, 'GET', '/api/v1/executions')).body.total).toBe(1);
  });

  it.each(['status', 'riskLevel'])('is not approved if it is a decision with an unknown %s', async (column) => {
    const [proposer, approver] = [await createAgent(app, { name: 'a' }), await createAgent(app, { name: 'b' })];
    const proposed = { type: 't', title: 't', proposedBy: proposer.id, riskLevel: 'critical' };
    const { id } = (await send(app, 'POST', '/api/v1/decisions', { body: proposed })).body;
    await alter('decisions', column, 'Other', id);
    const body = { approverId: approver.id };
    expect((await send(app, 'POST', `/api/v1/decisions/${id}/approve`, { body })).status).toBe(500);
  });
});
