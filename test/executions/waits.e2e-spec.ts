import { PostgresConnection } from '../../src/ledger/database/postgres/postgres-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import type { SqlConnection, SqlValue } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { onPostgres } from '../support/database/database-kind';

const WAITING = 5;

describe('Requests that wait for a record', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const approval = { approvers: [{ subjects: ['*'] }] };
    await createPolicy(app, { effect: 'require_approval', actions: ['refund'], approval });
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => app.close());

  async function pending(): Promise<Record<'id' | 'decisionId', string>> {
    const body = { action: 'refund', resourceType: 'order', resourceId: `orders/${Math.random()}` };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
  }

  it.each([
    ['executions', 'id'],
    ['decisions', 'decisionId'],
  ] as const)('read one of %s again only when an entry names it', async (list, member) => {
    const id = (await pending())[member];
    const Connection = onPostgres ? PostgresConnection : SqliteConnection;
    const all: SqlConnection['all'] = Reflect.get(Connection.prototype, 'all');
    let reads = 0;
    jest.spyOn(Connection.prototype, 'all').mockImplementation(function (
      this: SqlConnection,
      sql: string,
      parameters: readonly SqlValue[] = [],
    ): Promise<unknown[]> {
      if (sql.includes(`"${list}"`) && parameters.includes(id)) reads += 1;
      return all.call(this, sql, parameters);
    });
    const over = new AbortController();
    const waiting = Array.from({ length: WAITING }, () => send(app, 'GET', `/api/v1/${list}/${id}?wait=1`));
    const ended = Promise.all(waiting).finally(() => over.abort());
    while (!over.signal.aborted) await createEntity(app);
    for (const { status } of await ended) expect(status).toBe(200);
    // Each wait reads at its beginning and at its end.
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(2 * WAITING);
  });

  it('are answered once others end what they wait for', async () => {
    const { id, decisionId } = await pending();
    const wait = (path: string): Promise<Answer> => send(app, 'GET', `/api/v1/${path}?wait=60`);
    const waiting = [wait(`executions/${id}`), wait(`decisions/${decisionId}`)];
    await createEntity(app);
    const { id: approverId } = await createAgent(app, { name: 'ann', kind: 'human' });
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body: { approverId } });
    const [execution, decision] = await Promise.all(waiting);
    expect([execution?.body.outcome, decision?.body.status]).toEqual(['approved', 'approved']);
  });
});
