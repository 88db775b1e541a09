import { Database } from '../../src/ledger/database/database';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createEntity, issueKey } from '../support/application/factories';
import { send } from '../support/application/send';

const REQUESTS = 20;

describe('Requests with an issued key', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  /** The statements that read these tables while the requests run. */
  async function readsOf(tables: RegExp, requests: () => Promise<unknown>): Promise<string[]> {
    const { points, lists, chain } = app.application.get(Database);
    const spies = [points, lists, chain].map((connection) => jest.spyOn(connection, 'all'));
    await requests();
    const statements = spies.flatMap(({ mock }) => mock.calls.map(([sql]) => sql));
    spies.forEach((spy) => spy.mockRestore());
    return statements.filter((sql) => tables.test(sql));
  }

  it('make no query to find out who sends them, whether or not the key is bound', async () => {
    const { id: agentId } = await createAgent(app, { name: 'bot' });
    const { id: entityId } = await createEntity(app);
    const [free, bound] = [await issueKey(app), await issueKey(app, { agentId })];
    const get = async (path: string, secret: string): Promise<number> =>
      (await send(app, 'GET', `/api/v1/${path}`, { key: null, headers: { Authorization: `Bearer ${secret}` } })).status;
    const statuses = new Set<number>();
    const reads = await readsOf(/api_keys|agents/, async () => {
      for (let request = 0; request < REQUESTS; request += 1)
        for (const { secret } of [free, bound])
          for (const path of ['me', `entities/${entityId}`, 'entities']) statuses.add(await get(path, secret));
    });
    expect([[...statuses], reads]).toEqual([[200], []]);
    const wrong = free.secret.replace(/.$/, free.secret.endsWith('A') ? 'E' : 'A');
    expect(await readsOf(/api_keys|agents/, () => get('me', wrong))).toEqual([]);
    // Queries for what was requested are seen.
    expect(await readsOf(/agents/, () => get(`agents/${agentId}`, free.secret))).toHaveLength(1);
    expect(await readsOf(/entities/, () => get(`entities/${entityId}`, free.secret))).toHaveLength(1);
  });
});
