import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErasedIds } from '../../src/evidence/erasures/erased-ids';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { type Parsed, send } from '../support/application/send';

const PATH = '/api/v1/erasures';

describe('The ids of what is erased', () => {
  let app: TestApp;
  let ids: ErasedIds;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    ids = app.application.get(ErasedIds);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => app.close());

  async function erase(id: string): Promise<Parsed> {
    const body = { subjects: [{ type: 'entity', id }], reason: 'Request 9' };
    return send(app, 'POST', PATH, { body });
  }

  it('are kept, or nothing is erased, and the refusal names no file', async () => {
    const { id } = await createEntity(app);
    mkdirSync(ids.path);
    const refused = await erase(id);
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'UNAVAILABLE' } } });
    expect(refused.body.error.message).not.toContain(ids.path);
    expect((await send(app, 'GET', `/api/v1/entities/${id}`)).status).toBe(200);
    expect((await send(app, 'GET', PATH)).body.total).toBe(0);
    rmSync(ids.path, { recursive: true });
    expect((await erase(id)).status).toBe(201);
    expect(readFileSync(ids.path, 'utf8')).toContain(`entity ${id}\n`);
  });

  it('are kept before the erasure is completed, where they could not be before the answer', async () => {
    const { id } = await createEntity(app);
    jest.spyOn(ids, 'add').mockRejectedValueOnce(new Error('The disk is full.'));
    const { status, body } = await erase(id);
    expect([status, body.completedAt]).toEqual([201, null]);
    while ((await send(app, 'GET', `${PATH}/${body.id}`)).body.completedAt === null) await sleep(50);
    expect(readFileSync(ids.path, 'utf8')).toContain(`entity ${id}\n`);
  });

  it('hold up no contents of other erasures: these go on being taken where no id can be kept', async () => {
    const foreign = await foreignConnection(app);
    const about = (id: string): Promise<Parsed[]> =>
      foreign.all<Parsed>(
        'SELECT "sequence", "state" FROM "ledger_entries" WHERE "subjectId" = $1 ORDER BY "sequence"',
        [id],
      );
    const untilNothingIsLeft = async (): Promise<void> => {
      while ((await foreign.all('SELECT 1 FROM "ledger_leftovers"')).length > 0) await sleep(50);
    };
    const { id: former } = await createEntity(app);
    const [created] = await about(former);
    expect((await erase(former)).status).toBe(201);
    const { id: latter } = await createEntity(app);
    const unwritable = jest.spyOn(ids, 'add').mockRejectedValue(new Error('The disk is full.'));
    const { body } = await erase(latter);
    await untilNothingIsLeft();
    // As a process leaves it that has ended before it took all.
    await foreign.run('UPDATE "ledger_entries" SET "state" = $1, "erased" = NULL WHERE "sequence" = $2', [
      created.state,
      created.sequence,
    ]);
    await foreign.run(`INSERT INTO "ledger_leftovers" VALUES ('erased entity', $1)`, [former]);
    await untilNothingIsLeft();
    expect((await about(former))[0]).toMatchObject({ sequence: created.sequence, state: null });
    expect((await send(app, 'GET', `${PATH}/${body.id}`)).body.completedAt).toBeNull();
    unwritable.mockRestore();
    while ((await send(app, 'GET', `${PATH}/${body.id}`)).body.completedAt === null) await sleep(50);
    await foreign.close();
  });
});
