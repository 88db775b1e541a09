import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActionsModule } from '../support/application/actions.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { temporaryDatabase } from '../support/database/temporary-database';
import { ROOT } from '../support/documents/markdown';
import { type Proof, recomputeChain } from '../verification/recompute-chain';
import { schemaOf } from './schema-of';
import { RELEASED_VERSIONS, releasedDatabase, type ReleasedDatabase } from './released-database';
import { type Answer, send, type Parsed } from '../support/application/send';

/** The lists of the records of a subject; claims are listed by entity. */
const LISTS = {
  entity: 'entities',
  agent: 'agents',
  policy: 'policies',
  decision: 'decisions',
  execution: 'executions',
};
/** Milliseconds. */
const PATIENCE = 60_000;

it('A database of this version is kept', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(RELEASED_VERSIONS).toContain(version);
});

describe.each(RELEASED_VERSIONS)('The database of version %s', (version) => {
  let database: ReleasedDatabase;
  let app: TestApp;

  beforeAll(async () => {
    database = await releasedDatabase(version);
    app = await start();
  });
  afterAll(async () => {
    await app.close();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    const environment = { ...database.environment, REQUIRED_APPROVALS: 'medium=2' };
    return createTestApp({ environment, modules: [ActionsModule] });
  }

  async function chain(): Promise<Proof[]> {
    const { proofs, faults } = await recomputeChain(app);
    expect(faults).toEqual([]);
    return proofs;
  }

  async function get(path: string): Promise<Parsed> {
    return (await send(app, 'GET', `/api/v1/${path}`)).body;
  }

  async function only(path: string): Promise<Parsed> {
    const { data } = await get(path);
    expect(data).toHaveLength(1);
    return data[0];
  }

  async function post(path: string, body?: object): Promise<Answer> {
    return send(app, 'POST', `/api/v1/${path}`, { body });
  }

  it('gets the schema that a new database has', async () => {
    const empty = await temporaryDatabase();
    const other = await createTestApp({ environment: empty.environment });
    const schemas = [await schemaOf(app), await schemaOf(other)];
    await other.close();
    await empty.remove();
    expect(schemas[0]).toEqual(schemas[1]);
  });

  it('verifies, with entries of every kind', async () => {
    const entries = (await chain()).slice(0, database.hashes.length);
    expect(new Set(entries.map(({ subjectType }) => subjectType))).toEqual(new Set([...Object.keys(LISTS), 'claim']));
    expect(entries.length).toBeGreaterThan(50);
    await everythingIsValid(app);
  });

  it('is brought up to date: records in progress are settled', async () => {
    await until(async () => (await chain()).length === database.hashes.length + 2);
    const settled = (await chain()).slice(-2).map(({ action }) => action);
    expect(settled.sort()).toEqual(['decision.expired', 'execution.interrupted']);
  });

  it('shows every record as its last entry left it', async () => {
    const last = new Map((await chain()).map(({ subjectId, ...proof }) => [subjectId, proof]));
    const live = [...last.values()].filter(({ state }) => state !== null);
    for (const [subjectType, list] of Object.entries(LISTS)) {
      const states = live.filter((proof) => proof.subjectType === subjectType).map(({ state }) => state);
      const { data, total } = await get(`${list}?limit=1000`);
      expect(total).toBe(states.length);
      expect(byId(data)).toMatchObject(byId(states as { id: string }[]));
    }
    const entities: { id: string }[] = (await get('entities?limit=1000')).data;
    const lists = await Promise.all(entities.map(({ id }) => get(`entities/${id}/claims?limit=1000`)));
    const claims = lists.flatMap(({ data }) => data);
    const ids = new Set(entities.map(({ id }) => id));
    const states = live.filter(({ subjectType }) => subjectType === 'claim').map(({ state }) => state as Parsed);
    expect(byId(claims)).toMatchObject(byId(states.filter(({ entityId }) => ids.has(entityId))));
    expect(await get('stats')).toMatchObject({ claims: claims.length, entities: entities.length });
  });

  it('finds records by every filter of their lists', async () => {
    expect((await get('agents?capability=succeed&role=worker')).total).toBe(1);
    expect((await get('policies?status=superseded')).data).toMatchObject([{ name: 'open', version: '1.0' }]);
    expect((await get('decisions?status=approved&riskLevel=medium')).total).toBe(1);
    expect((await get('executions?outcome=interrupted')).total).toBe(2);
    expect((await get('audit?action=claim.added')).total).toBe(5);
    expect((await get('provenance?action=execution.denied')).total).toBe(4);
  });

  it('can be used as before', async () => {
    const gateway = await only('entities?type=service');
    const bot = await only('agents?role=worker');
    const reviewed = (await get('decisions?status=proposed')).data.find(
      (decision: Parsed) => decision.type === 'purchase',
    );
    const third = await get('agents/third');
    const execution = { action: 'succeed', resourceType: 'document', resourceId: 'docs/a' };
    const put = await send(app, 'PUT', `/api/v1/entities/${gateway.id}`, { body: { properties: {} } });
    expect(put.body).toMatchObject({ revision: Number(gateway.revision) + 1, name: gateway.name });
    expect((await post(`entities/${gateway.id}/claims`, { predicate: 'a', value: 1 })).status).toBe(201);
    expect((await post(`agents/${bot.id}/execute`, execution)).body).toMatchObject({ outcome: 'executed' });
    expect((await post(`agents/${bot.id}/execute`, { ...execution, action: 'forbidden' })).body).toMatchObject({
      outcome: 'authorized',
    });
    const approval = await post(`decisions/${reviewed.id}/approve`, { approverId: third.id });
    expect(approval.body).toMatchObject({ status: 'approved' });
    const { id } = await only('policies?name=open&status=superseded');
    expect((await post(`policies/${id}/activate`)).body).toMatchObject({ status: 'active' });
    expect((await post('agents/suspended/resume')).body).toMatchObject({ status: 'active' });
    expect((await post('agents', { name: 'third' })).status).toBe(409);
    expect((await send(app, 'DELETE', `/api/v1/entities/${gateway.id}`)).status).toBe(204);
    await everythingIsValid(app);
  });

  it('keeps every entry of that version as it was, also after another start', async () => {
    await app.close();
    app = await start();
    const hashes = (await chain()).map(({ hash }) => hash);
    expect(hashes.slice(0, database.hashes.length)).toEqual(database.hashes);
    await everythingIsValid(app);
  });
});

/** Verifies the chain, and every record, counter and list item against it. */
async function everythingIsValid(app: TestApp): Promise<void> {
  const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
  expect(body).toMatchObject({ valid: true, brokenLinks: 0, invalidHashes: 0, invalidRecords: 0 });
}

/** Returns once the condition holds, or after a time limit: the expectations that follow show which. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + PATIENCE; !(await condition()) && Date.now() < end;) await sleep(100);
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Record<string, Row> {
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}
