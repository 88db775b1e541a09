import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, auditOf, chainIsValid, createEntity } from '../support/application/factories';
import { faults, send, type Answer } from '../support/application/send';

describe('Claims', () => {
  let app: TestApp;
  let entityId: string;

  beforeAll(async () => {
    app = await createTestApp();
  });
  beforeEach(async () => {
    entityId = (await createEntity(app)).id;
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const claims = (id = entityId): string => `/api/v1/entities/${id}/claims`;
  const post = (body: unknown): Promise<Answer> => send(app, 'POST', claims(), { body });

  describe('POST', () => {
    it('returns 201 with the record and its Location', async () => {
      const body = {
        predicate: 'data_classification',
        value: 'confidential',
        context: { confidence: 0.95, by: ['x'] },
      };
      const created = await post(body);
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: expect.stringMatching(/^clm_[0-9A-HJKMNP-TV-Z]{26}$/),
        entityId,
        ...body,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(created.headers.get('location')).toBe(`${claims()}/${created.body.id}`);
      expect(created.headers.get('etag')).toBeNull();
      expect(await send(app, 'GET', `${claims()}/${created.body.id}`)).toMatchObject({
        status: 200,
        body: created.body,
      });
    });

    it.each([
      ...['text', '', ' ', 'false', 'null', '1', '😀'.repeat(10_000)],
      ...[0, -1.5, 0.1, 5e-324, 1.7976931348623157e308, 9007199254740991, true, false],
    ])('takes a string, a number or a boolean and gives it back: %p', async (value) => {
      const created = await post({ predicate: 'p', value });
      expect(created).toMatchObject({ status: 201, body: { value, context: {} } });
      expect((await send(app, 'GET', `${claims()}/${created.body.id}`)).body.value).toBe(value);
    });

    it.each([0, 1, 0.5])('accepts a confidence from 0 to 1: %p', async (confidence) => {
      expect((await post({ predicate: 'p', value: 1, context: { confidence } })).body.context).toEqual({ confidence });
    });

    it('accepts a predicate of 255 code points, and null for an absent context', async () => {
      expect(await post({ predicate: '😀'.repeat(255), value: 1, context: null })).toMatchObject({
        status: 201,
        body: { context: {} },
      });
    });

    it.each<[body: object, expected: object]>([
      [{}, { predicate: 'is required', value: 'is required' }],
      [
        { predicate: ' ', value: null },
        { predicate: 'must not be blank', value: 'must be a string, a number or a boolean' },
      ],
      [
        { predicate: 'p'.repeat(256), value: {} },
        { predicate: 'must have 1 to 255 characters', value: 'must be a string, a number or a boolean' },
      ],
      [{ predicate: 'p', value: ['x'] }, { value: 'must be a string, a number or a boolean' }],
      [{ predicate: 'p', value: '😀'.repeat(10_001) }, { value: 'must have at most 10000 characters' }],
      [{ predicate: 'p', value: 1, context: 'x' }, { context: 'must be an object' }],
      [{ predicate: 'p', value: 1, context: [] }, { context: 'must be an object' }],
      ...[-0.001, 1.001, '0.5', null, true, {}].map((confidence): [object, object] => [
        { predicate: 'p', value: 1, context: { confidence } },
        { 'context.confidence': 'must be a number from 0 to 1' },
      ]),
      [{ predicate: 'p', value: 1, entityId: 'x' }, { entityId: expect.stringContaining('is not known here') }],
    ])('blames every field at fault: %j', async (body, expected) => {
      const answer = await post(body);
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(faults(answer)).toEqual(expected);
    });

    it('accepts claims that contradict each other, and leaves the entity unchanged', async () => {
      const entity = (await send(app, 'GET', `/api/v1/entities/${entityId}`)).body;
      const made = [
        await addClaim(app, entityId, { predicate: 'tier', value: 1 }),
        await addClaim(app, entityId, { predicate: 'tier', value: 2 }),
        await addClaim(app, entityId, { predicate: 'tier', value: 1 }),
      ];
      expect((await send(app, 'GET', claims())).body).toEqual({ data: made, total: 3 });
      expect((await send(app, 'GET', `/api/v1/entities/${entityId}`)).body).toEqual(entity);
    });
  });

  it('are listed by predicate, and only those of their entity', async () => {
    const owner = await addClaim(app, entityId, { predicate: 'owner' });
    await addClaim(app, entityId, { predicate: 'Owner' });
    await addClaim(app, (await createEntity(app)).id, { predicate: 'owner' });
    expect((await send(app, 'GET', `${claims()}?predicate=owner`)).body).toEqual({ data: [owner], total: 1 });
    expect((await send(app, 'GET', `${claims()}?predicate=none`)).body).toEqual({ data: [], total: 0 });
  });

  it('of an entity that does not exist are 404', async () => {
    const { id } = await addClaim(app, entityId);
    const answers = [
      await send(app, 'GET', claims('ent_none')),
      await send(app, 'GET', `${claims('ent_none')}/${id}`),
      await send(app, 'DELETE', `${claims('ent_none')}/${id}`),
      await send(app, 'POST', claims('ent_none'), { body: { predicate: 'p', value: 1 } }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
    expect((await send(app, 'POST', claims('ent_none'), { body: {} })).status).toBe(400);
  });

  it('are found under their own entity only', async () => {
    const { id } = await addClaim(app, entityId);
    const other = await createEntity(app);
    expect((await send(app, 'GET', `${claims(other.id)}/${id}`)).status).toBe(404);
    expect((await send(app, 'DELETE', `${claims(other.id)}/${id}`)).status).toBe(404);
    expect((await send(app, 'GET', `${claims()}/${entityId}`)).status).toBe(404);
    expect((await send(app, 'GET', `${claims()}/${id}`)).status).toBe(200);
  });

  it('can be removed with 204, and their history stays', async () => {
    const removed = await addClaim(app, entityId);
    const otherClaim = await addClaim(app, entityId);
    expect(await send(app, 'DELETE', `${claims()}/${removed.id}`)).toMatchObject({ status: 204, text: '' });
    expect((await send(app, 'GET', `${claims()}/${removed.id}`)).status).toBe(404);
    expect((await send(app, 'DELETE', `${claims()}/${removed.id}`)).status).toBe(404);
    expect((await send(app, 'GET', claims())).body).toEqual({ data: [otherClaim], total: 1 });
    expect((await auditOf(app, removed.id)).map(({ action }) => action)).toEqual(['claim.added', 'claim.removed']);
  });

  it('cannot be changed', async () => {
    const { id } = await addClaim(app, entityId);
    const answer = await send(app, 'PUT', `${claims()}/${id}`, { body: { value: 1 } });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD');
  });
});
