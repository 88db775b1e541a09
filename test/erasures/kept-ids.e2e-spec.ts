import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ErasedIds } from '../../src/evidence/erasures/erased-ids';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createEntity } from '../support/application/factories';
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
});
