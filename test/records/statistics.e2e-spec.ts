import { RecordCatalog } from '../../src/ledger/records/record-catalog';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { doEverything, EVERY_ACTION_ENVIRONMENT } from '../support/requests/every-action';
import { addClaim, createAgent, createEntity, createPolicy, propose } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const NOTHING = { entities: 0, claims: 0, agents: 0, decisions: 0, policies: 0, provenanceEntries: 0 };

describe('Statistics', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  const environment = (): Record<string, string> => ({ ...EVERY_ACTION_ENVIRONMENT, ...database.environment });

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ modules: [ActionsModule], environment: environment() });
  });
  afterEach(async () => {
    await app.close();
    await database.remove();
  });

  async function statistics(): Promise<Record<string, number>> {
    const { status, body } = await send(app, 'GET', '/api/v1/stats');
    expect(status).toBe(200);
    return body;
  }

  /** Counters of further modules, whose records these tests do not create. */
  function ofModules(): object {
    const kinds = [...app.application.get(RecordCatalog, { strict: false }).all].map(({ kind }) => kind);
    const counters = kinds.flatMap(({ isInStatistics, counter }) => (isInStatistics === true ? counter : []));
    return counters.length === 0 ? {} : { modules: Object.fromEntries(counters.map((name) => [name, 0])) };
  }

  it('are exactly six integers, 0 for a fresh database', async () => {
    expect(await statistics()).toEqual({ ...NOTHING, ...ofModules() });
  });

  it('count existing records, every version of a policy, and every entry', async () => {
    const { id } = await createEntity(app);
    const gone = await createEntity(app);
    await addClaim(app, id);
    await addClaim(app, gone.id);
    const claim = await addClaim(app, id);
    const agent = await createAgent(app, { name: 'bot' });
    await propose(app, agent.id);
    await createPolicy(app, { name: 'p', version: '1' });
    await createPolicy(app, { name: 'p', version: '2' });
    await send(app, 'DELETE', `/api/v1/entities/${id}/claims/${claim.id}`);
    await send(app, 'DELETE', `/api/v1/entities/${gone.id}`);
    const counts = { entities: 1, claims: 1, agents: 1, decisions: 1, policies: 2, provenanceEntries: 12 };
    expect(await statistics()).toEqual({ ...counts, ...ofModules() });
  });

  it('equal what the lists count, also after a restart', async () => {
    await doEverything(app);
    const expected = await statistics();
    for (const [name, path] of [
      ['entities', 'entities'],
      ['agents', 'agents'],
      ['decisions', 'decisions'],
      ['policies', 'policies'],
      ['provenanceEntries', 'provenance'],
      ['provenanceEntries', 'audit'],
    ] as const) {
      const { data, total } = (await send(app, 'GET', `/api/v1/${path}?limit=1000`)).body;
      expect([name, data.length, total]).toEqual([name, expected[name], expected[name]]);
    }
    await app.close();
    app = await createTestApp({ modules: [ActionsModule], environment: environment() });
    expect(await statistics()).toEqual(expected);
  });

  it('follow an entity to its new type in the total of each', async () => {
    const { id } = await createEntity(app, { type: 'one' });
    await createEntity(app, { type: 'two' });
    await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { type: 'two' } });
    const total = async (type: string): Promise<number> =>
      (await send(app, 'GET', `/api/v1/entities?type=${type}`)).body.total;
    expect([await total('one'), await total('two')]).toEqual([0, 2]);
  });

  it('need the key, and take no parameters', async () => {
    expect((await send(app, 'GET', '/api/v1/stats', { key: null })).status).toBe(401);
    expect(faults(await send(app, 'GET', '/api/v1/stats?type=x'))).toEqual({ 'query.type': expect.any(String) });
  });
});

describe('Health', () => {
  it('is healthy with the time, without a key', async () => {
    const app = await createTestApp();
    try {
      const { status, body } = await send(app, 'GET', '/api/v1/health', { key: null });
      expect(status).toBe(200);
      expect(body).toEqual({
        status: 'healthy',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(Math.abs(Date.parse(body.timestamp) - Date.now())).toBeLessThan(60_000);
    } finally {
      await app.close();
    }
  });
});
