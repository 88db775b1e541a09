import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, auditOf, chainIsValid, createEntity } from '../support/application/factories';
import { faults, send, type Answer, type Sent } from '../support/application/send';

const ENTITIES = '/api/v1/entities';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNKNOWN_IDS = [
  'ent_01KAGQ5W3SYJ8V6D2N4B7XZ9RM',
  'ent_',
  'nothing',
  'agt_1',
  '%20',
  'a%2Fb',
  '0',
  'x'.repeat(3000),
];

describe('Entities', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const post = (body: unknown): Promise<Answer> => send(app, 'POST', ENTITIES, { body });
  const get = (id: string, sent?: Sent): Promise<Answer> => send(app, 'GET', `${ENTITIES}/${id}`, sent);
  const put = (id: string, body: unknown, headers = {}): Promise<Answer> =>
    send(app, 'PUT', `${ENTITIES}/${id}`, { body, headers });
  const remove = (id: string, headers = {}): Promise<Answer> => send(app, 'DELETE', `${ENTITIES}/${id}`, { headers });

  async function entryCount(): Promise<number> {
    return (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
  }

  it('are listed by their name, exactly, and by type and name', async () => {
    const [name, others] = ['Ledger of notes & dues', { name: 'Ledger of notes' }];
    const first = await createEntity(app, { name });
    const second = await createEntity(app, { name, type: 'document' });
    await createEntity(app, others);
    const list = (query: object): Promise<Answer> =>
      send(app, 'GET', `${ENTITIES}?${new URLSearchParams({ ...query }).toString()}`);
    expect((await list({ name })).body).toMatchObject({ data: [first, second], total: 2 });
    expect((await list({ name, type: 'document' })).body).toMatchObject({ data: [second], total: 1 });
    expect((await list({ name: name.toLowerCase() })).body).toMatchObject({ data: [], total: 0 });
    expect(faults(await list({ name: 'x'.repeat(256) }))).toHaveProperty(['query.name']);
  });

  describe('POST', () => {
    it('returns 201 with the record, its Location and its ETag', async () => {
      const body = { type: 'service', name: 'Payment gateway', properties: { tier: 1 } };
      const created = await post(body);
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: expect.stringMatching(/^ent_[0-9A-HJKMNP-TV-Z]{26}$/),
        ...body,
        createdAt: expect.stringMatching(TIME),
        updatedAt: created.body.createdAt,
        revision: 1,
      });
      expect(created.headers.get('location')).toBe(`${ENTITIES}/${created.body.id}`);
      expect(created.headers.get('etag')).toBe('"1"');
    });

    it('assigns ids that sort by creation', async () => {
      const ids = [];
      for (let made = 0; made < 20; made += 1) ids.push((await createEntity(app)).id);
      expect([...ids].sort()).toEqual(ids);
    });

    it.each([{}, { properties: null }])('takes absent properties as an empty object: %j', async (rest) => {
      expect((await post({ type: 'a', name: 'b', ...rest })).body.properties).toEqual({});
    });

    it('counts code points: 100 of the type, 255 of the name', async () => {
      expect((await post({ type: '😀'.repeat(100), name: 'é'.repeat(255) })).status).toBe(201);
    });

    it.each([
      [{ name: 'b' }, { type: 'is required' }],
      [{ type: 'a' }, { name: 'is required' }],
      [
        { type: null, name: null },
        { type: 'must be a string', name: 'must be a string' },
      ],
      [
        { type: '', name: ' \t' },
        { type: 'must not be blank', name: 'must not be blank' },
      ],
      [
        { type: '😀'.repeat(101), name: 'n'.repeat(256) },
        { type: 'must have 1 to 100 characters', name: 'must have 1 to 255 characters' },
      ],
      [
        { type: 1, name: ['b'] },
        { type: 'must be a string', name: 'must be a string' },
      ],
      [{ type: 'a', name: 'b', properties: [] }, { properties: 'must be an object' }],
      [{ type: 'a', name: 'b', properties: 'x' }, { properties: 'must be an object' }],
    ])('blames every field at fault: %j', async (body, expected) => {
      const answer = await post(body);
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(faults(answer)).toEqual(expected);
    });

    it.each([{ id: 'ent_1' }, { revision: 1 }, { propertys: {} }, { createdAt: null }])(
      'refuses an unknown field whatever its value: %j',
      async (extra) => {
        const answer = await post({ type: 'a', name: 'b', ...extra });
        expect(answer.status).toBe(400);
        expect(Object.keys(faults(answer))).toEqual(Object.keys(extra));
      },
    );

    it('needs a body', async () => {
      expect(faults(await post(undefined))).toEqual({ type: 'is required', name: 'is required' });
    });

    it('returns properties unchanged, in its answer and to every reader', async () => {
      const properties =
        '{"z":1,"a":{"b":[1,2,{"c":null}]},"constructor":"x","toString":{},"prototype":[],"":"","é\\u0001\\u2028😀":"\\"\\\\\\/",' +
        '"numbers":[0.1,1e-7,5e-324,1.7976931348623157e308,9007199254740991,-9007199254740991,1e21,123456789.125],' +
        '"strings":["false","1","null","  "],"10":1,"9":2,"nothing":null,"yes":true,"no":false,"empty":{},"none":[]}';
      const created = await post(`{"type":"a","name":"b","properties":${properties}}`);
      expect(created.body.properties).toEqual(JSON.parse(properties));
      expect((await get(created.body.id)).body.properties).toEqual(JSON.parse(properties));
      const listed = await send(app, 'GET', `${ENTITIES}?order=desc&limit=1`);
      expect(listed.body.data[0].properties).toEqual(JSON.parse(properties));
    });
  });

  describe('GET', () => {
    it('returns the record as it was created, with its ETag', async () => {
      const entity = await createEntity(app);
      const answer = await get(entity.id);
      expect(answer).toMatchObject({ status: 200, body: entity });
      expect(answer.headers.get('etag')).toBe('"1"');
    });

    it.each(['"1"', '*', '"7", "1"', 'W/"1"'])('answers 304 without a body to If-None-Match: %s', async (tag) => {
      const { id } = await createEntity(app);
      const answer = await get(id, { headers: { 'If-None-Match': tag } });
      expect(answer).toMatchObject({ status: 304, text: '' });
      expect(answer.headers.get('etag')).toBe('"1"');
    });

    it('answers 200 if the copy is of another revision', async () => {
      const { id } = await createEntity(app);
      await put(id, { name: 'renamed' });
      const answer = await get(id, { headers: { 'If-None-Match': '"1"' } });
      expect(answer).toMatchObject({ status: 200, body: { name: 'renamed', revision: 2 } });
    });
  });

  it.each(UNKNOWN_IDS)('answers 404 for an id that names nothing, in any form: %s', async (id) => {
    const answers = [
      await get(id),
      await get(id, { headers: { 'If-None-Match': '*' } }),
      await put(id, { name: 'x' }),
      await put(id, { name: 'x' }, { 'If-Match': '"1"' }),
      await remove(id),
      await remove(id, { 'If-Match': '*' }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({
        status: 404,
        body: { error: { code: 'NOT_FOUND', message: 'The entity was not found.' } },
      });
    }
  });

  describe('PUT', () => {
    it.each([
      [{ type: 'other' }, ['type']],
      [{ name: 'Other' }, ['name']],
      [{ properties: { other: true } }, ['properties']],
      [{ properties: {}, type: 'other', name: 'Other' }, ['type', 'name', 'properties']],
    ])('changes what is given, and what is absent stays: %j', async (update, fields) => {
      const entity = (await post({ type: 'service', name: 'Gateway', properties: { a: 1 } })).body;
      const answer = await put(entity.id, update);
      expect(answer).toMatchObject({
        status: 200,
        body: { ...entity, ...update, updatedAt: expect.any(String), revision: 2 },
      });
      expect(answer.body.properties).toEqual({ properties: { a: 1 }, ...update }.properties);
      expect(answer.body.updatedAt >= entity.updatedAt).toBe(true);
      expect(answer.headers.get('etag')).toBe('"2"');
      expect((await get(entity.id)).body).toEqual(answer.body);
      expect((await auditOf(app, entity.id)).at(-1)).toMatchObject({ action: 'entity.updated', details: { fields } });
    });

    it('accepts an edited answer of GET', async () => {
      const { id } = await createEntity(app);
      const { body } = await get(id);
      const answer = await put(id, { ...body, name: 'Edited' });
      expect(answer).toMatchObject({
        status: 200,
        body: { ...body, name: 'Edited', updatedAt: expect.any(String), revision: 2 },
      });
    });

    it('ignores createdAt, updatedAt and revision, with any values', async () => {
      const entity = await createEntity(app);
      const answer = await put(entity.id, { name: 'x', createdAt: 7, updatedAt: { a: [] }, revision: 'many' });
      expect(answer).toMatchObject({ status: 200, body: { createdAt: entity.createdAt, revision: 2 } });
    });

    it("refuses an id that is not the path's", async () => {
      const { id } = await createEntity(app);
      expect(faults(await put(id, { name: 'x', id: 'ent_other' }))).toEqual({
        id: `must equal the id in the path, ${id}`,
      });
      expect(faults(await put(id, { name: 'x', id: 7 }))).toEqual({ id: 'must be a string' });
      expect((await put(id, { name: 'x', id: null })).status).toBe(200);
    });

    it.each([{}, { name: null }, { revision: 1 }, undefined])('needs something to change: %j', async (body) => {
      const { id } = await createEntity(app);
      expect(faults(await put(id, body))).toEqual({ body: 'must have at least one of type, name, properties' });
    });

    it.each([
      [{ type: '' }, { type: 'must not be blank' }],
      [{ name: 'n'.repeat(256) }, { name: 'must have 1 to 255 characters' }],
      [{ properties: 'x' }, { properties: 'must be an object' }],
      [{ name: 'x', nmae: 'y' }, { nmae: expect.stringContaining('is not known here') }],
    ])('blames the field at fault: %j', async (body, expected) => {
      const { id } = await createEntity(app);
      const answer = await put(id, body);
      expect(answer.status).toBe(400);
      expect(faults(answer)).toEqual(expected);
    });

    it('that changes nothing answers 200 and adds no entry', async () => {
      const entity = await createEntity(app, { properties: { a: 1, b: { c: [1.0], d: null } } });
      const before = await entryCount();
      for (const same of [
        { name: entity.name },
        { type: entity.type, name: entity.name, properties: { b: { d: null, c: [1] }, a: 1 } },
        entity,
      ]) {
        const answer = await put(entity.id, same);
        expect(answer).toMatchObject({ status: 200, body: entity });
        expect(answer.headers.get('etag')).toBe('"1"');
      }
      expect(await entryCount()).toBe(before);
    });

    it.each(['"1"', '*', '"3" , "1"'])('succeeds if If-Match matches: %s', async (tag) => {
      const { id } = await createEntity(app);
      expect((await put(id, { name: 'x' }, { 'If-Match': tag })).status).toBe(200);
    });

    it.each(['"2"', 'W/"1"', '"01"', '"2", "3"', '""'])('is refused with 412 if If-Match does not: %s', async (tag) => {
      const entity = await createEntity(app);
      const before = await entryCount();
      const answer = await put(entity.id, { name: 'x' }, { 'If-Match': tag });
      expect(answer).toMatchObject({ status: 412, body: { error: { code: 'PRECONDITION_FAILED' } } });
      expect((await get(entity.id)).body).toEqual(entity);
      expect(await entryCount()).toBe(before);
    });

    it.each(['1', '"1" "2"', 'x'])('is refused with 400 if If-Match is malformed: %s', async (tag) => {
      const { id } = await createEntity(app);
      expect(Object.keys(faults(await put(id, { name: 'x' }, { 'If-Match': tag })))).toEqual(['header.If-Match']);
    });

    it('succeeds for one of two that race on one revision', async () => {
      const { id } = await createEntity(app);
      const race = ['one', 'two', 'three'].map((name) => put(id, { name }, { 'If-Match': '"1"' }));
      const statuses = (await Promise.all(race)).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 412, 412]);
      expect((await get(id)).body.revision).toBe(2);
    });

    it('is checked in order: fields, then the record, then its revision', async () => {
      const { id } = await createEntity(app);
      const outdated = { 'If-Match': '"9"' };
      expect((await put('ent_none', { name: '' }, outdated)).status).toBe(400);
      expect((await put('ent_none', { name: 'x', id }, outdated)).status).toBe(400);
      expect((await put('ent_none', { name: 'x' }, outdated)).status).toBe(404);
      expect((await put(id, { name: '' }, outdated)).status).toBe(400);
      expect((await put(id, { name: 'x' }, outdated)).status).toBe(412);
    });
  });

  describe('DELETE', () => {
    it('answers 204 without a body, and the entity is gone', async () => {
      const { id } = await createEntity(app);
      expect(await remove(id)).toMatchObject({ status: 204, text: '' });
      expect((await get(id)).status).toBe(404);
      expect((await remove(id)).status).toBe(404);
    });

    it('removes its claims with it, in one entry that says how many', async () => {
      const { id } = await createEntity(app);
      const other = await createEntity(app);
      const claims = [await addClaim(app, id), await addClaim(app, id), await addClaim(app, id)];
      const otherClaim = await addClaim(app, other.id);
      const before: Record<string, number> = (await send(app, 'GET', '/api/v1/stats')).body;
      await remove(id);
      const after: Record<string, number> = (await send(app, 'GET', '/api/v1/stats')).body;
      const steps = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]);
      expect(Object.fromEntries(steps)).toEqual({
        entities: -1,
        claims: -3,
        agents: 0,
        decisions: 0,
        policies: 0,
        provenanceEntries: 1,
      });
      expect((await auditOf(app, id)).at(-1)).toMatchObject({ action: 'entity.deleted', details: { claims: 3 } });
      for (const claim of claims) expect((await get(`${id}/claims/${claim.id}`)).status).toBe(404);
      expect((await get(`${other.id}/claims/${otherClaim.id}`)).body).toEqual(otherClaim);
    });

    it('leaves its history', async () => {
      const { id } = await createEntity(app);
      const claim = await addClaim(app, id);
      await put(id, { name: 'x' });
      await remove(id);
      const { body } = await send(app, 'GET', `/api/v1/audit?order=asc&entityId=${id}`);
      expect(body.data.map(({ action }: { action: string }) => action)).toEqual([
        'entity.created',
        'claim.added',
        'entity.updated',
        'entity.deleted',
      ]);
      expect(body.data[1].subjectId).toBe(claim.id);
    });

    it.each([
      ['"1"', 204],
      ['*', 204],
      ['"2"', 412],
      ['W/"1"', 412],
      ['1', 400],
    ])('with If-Match %s answers %i', async (tag, status) => {
      const { id } = await createEntity(app);
      expect((await remove(id, { 'If-Match': tag })).status).toBe(status);
      expect((await get(id)).status).toBe(status === 204 ? 404 : 200);
    });
  });

  it('refuses query parameters where none are taken', async () => {
    const { id } = await createEntity(app);
    expect(Object.keys(faults(await get(`${id}?type=x`)))).toEqual(['query.type']);
    expect(Object.keys(faults(await put(`${id}?force=1`, { name: 'x' })))).toEqual(['query.force']);
    expect((await send(app, 'DELETE', `${ENTITIES}/${id}?now=1`)).status).toBe(400);
    expect((await get(id)).status).toBe(200);
  });
});
