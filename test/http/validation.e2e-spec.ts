import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Answer, faults, send } from '../support/application/send';

const SMALLEST_BODY = { name: 'a', value: 'b' };

describe('A member of a body', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  function post(body: object): Promise<Answer> {
    return send(app, 'POST', '/api/v1/samples', { body });
  }

  it.each([
    [{ name: 'ten letter' }],
    [{ name: '😀'.repeat(10) }],
    [{ description: '' }],
    [{ description: ' ' }],
    [{ tags: [] }],
    [{ tags: ['a', 'b', '12345'] }],
    [{ level: 'high' }],
    [{ priority: -5 }],
    [{ priority: 5.0 }],
    [{ value: '' }],
    [{ value: 0.5 }],
    [{ value: false }],
    [{ expiresAt: '2026-11-20T06:18:03Z' }],
    [{ properties: {} }],
  ])('is taken: %j', async (members) => {
    const answer = await post({ ...SMALLEST_BODY, ...members });
    expect(answer.status).toBe(201);
    const [[name, value]] = Object.entries(members) as [[string, unknown]];
    if (name !== 'expiresAt') expect(answer.body.body[name]).toEqual(value);
  });

  it.each<[object, string, string]>([
    [{ name: undefined }, 'name', 'is required'],
    [{ name: null }, 'name', 'must be a string'],
    [{ name: 5 }, 'name', 'must be a string'],
    [{ name: ' \t\u00a0' }, 'name', 'must not be blank'],
    [{ name: '' }, 'name', 'must not be blank'],
    [{ name: 'eleven lette' }, 'name', 'must have 1 to 10 characters'],
    [{ name: '😀'.repeat(11) }, 'name', 'must have 1 to 10 characters'],
    [{ description: 'x'.repeat(21) }, 'description', 'must have at most 20 characters'],
    [{ tags: 'a' }, 'tags', 'must be an array of strings'],
    [{ tags: { 0: 'a', length: 1 } }, 'tags', 'must be an array of strings'],
    [{ tags: ['a', 'b', 'c', 'd'] }, 'tags', 'must have at most 3 items'],
    [{ tags: ['a', 'a'] }, 'tags[1]', 'must differ from the items before it'],
    [{ tags: ['a', 1] }, 'tags[1]', 'must be a string'],
    [{ tags: ['a', null] }, 'tags[1]', 'must be a string'],
    [{ tags: ['123456'] }, 'tags[0]', 'must have 1 to 5 characters'],
    [{ level: 'medium' }, 'level', 'must be one of low, high'],
    [{ level: 'toString' }, 'level', 'must be one of low, high'],
    [{ priority: 6 }, 'priority', 'must be an integer from -5 to 5'],
    [{ priority: '1' }, 'priority', 'must be an integer from -5 to 5'],
    [{ priority: 1.5 }, 'priority', 'must be an integer from -5 to 5'],
    [{ value: undefined }, 'value', 'is required'],
    [{ value: null }, 'value', 'must be a string, a number or a boolean'],
    [{ value: [] }, 'value', 'must be a string, a number or a boolean'],
    [{ value: 'x'.repeat(11) }, 'value', 'must have at most 10 characters'],
    [{ properties: [] }, 'properties', 'must be an object'],
    [{ properties: 'a' }, 'properties', 'must be an object'],
    [{ expiresAt: '2026-11-20' }, 'expiresAt', 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z'],
    [{ expiresAt: 5 }, 'expiresAt', 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z'],
  ])('is refused: %j', async (members, field, message) => {
    const answer = await post({ ...SMALLEST_BODY, ...members });
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ [field]: message });
  });

  it('that is optional may be null, which counts as absent', async () => {
    const nulls = { description: null, properties: null, tags: null, level: null, priority: null, expiresAt: null };
    const answer = await post({ ...SMALLEST_BODY, ...nulls });
    expect(answer.status).toBe(201);
    expect(answer.body.body).toEqual(SMALLEST_BODY);
  });

  it.each(['nmae', 'Name', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'id', ''])(
    'that is unknown is refused whatever its value: %j',
    async (name) => {
      for (const value of [1, null, 'x', {}, []]) {
        const answer = await post({ ...SMALLEST_BODY, [name]: value });
        expect(answer.status).toBe(400);
        expect(Object.keys(faults(answer))).toEqual([name]);
      }
    },
  );

  it('may belong to a group of which at least one is required', async () => {
    const change = (body: object): Promise<Answer> => send(app, 'PATCH', '/api/v1/samples/1', { body });
    expect(faults(await change({}))).toEqual({ body: 'must have at least one of name, description' });
    expect(faults(await change({ name: null, revision: 1 }))).toEqual({
      body: 'must have at least one of name, description',
    });
    expect((await change({ description: '' })).status).toBe(200);
    expect((await change({ description: '', revision: { constructor: 1 } })).status).toBe(200);
  });

  it('is validated together with the query', async () => {
    const answer = await send(app, 'PUT', '/api/v1/samples/1?limit=x&level=up', {
      body: { nmae: 1, name: '' },
      headers: { 'If-Match': '3' },
    });
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer)).sort()).toEqual([
      'header.If-Match',
      'name',
      'nmae',
      'query.level',
      'query.limit',
    ]);
    const half = await send(app, 'PUT', '/api/v1/samples/1?limit=x', { body: { name: 'a' } });
    expect(Object.keys(faults(half))).toEqual(['query.limit']);
    const otherHalf = await send(app, 'PUT', '/api/v1/samples/1?limit=5', { body: { name: '' } });
    expect(Object.keys(faults(otherHalf))).toEqual(['name']);
  });
});

describe('A query parameter', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  it.each([
    ['limit=1000', {}],
    ['type=a+b%2Bc', { type: 'a b+c' }],
    ['type=%C3%A9', { type: 'é' }],
    ['level=high&', { level: 'high' }],
    ['from=2026-11-20', { from: '2026-11-20T00:00:00.000Z' }],
    ['from=2026-11-20T06:18:03.9999%2B02:00', { from: '2026-11-20T04:18:03.999Z' }],
    ['from=2026-11-20t06:18:03z', { from: '2026-11-20T06:18:03.000Z' }],
    ['', {}],
  ])('is taken: %s', async (query, filters) => {
    const answer = await send(app, 'GET', `/api/v1/samples?${query}`);
    expect(answer.status).toBe(200);
    expect(answer.body.filters).toEqual(filters);
  });

  it.each<[string, string, unknown]>([
    ['limit=0', 'limit', 'must be an integer from 1 to 1000, in digits only'],
    ['limit=1001', 'limit', 'must be an integer from 1 to 1000, in digits only'],
    ['limit=0x10', 'limit', expect.stringContaining('digits')],
    ['limit=1e2', 'limit', expect.stringContaining('digits')],
    ['limit=%205', 'limit', expect.stringContaining('digits')],
    ['limit=%2B5', 'limit', expect.stringContaining('digits')],
    ['limit=5.0', 'limit', expect.stringContaining('digits')],
    ['offset=-1', 'offset', expect.stringContaining('digits')],
    ['offset=2147483648', 'offset', expect.stringContaining('2147483647')],
    ['offset=99999999999999999999', 'offset', expect.stringContaining('digits')],
    ['order=ASC', 'order', 'must be one of asc, desc'],
    ['level=medium', 'level', 'must be one of low, high'],
    ['type=a&type=a', 'type', 'must be given only once'],
    ['type=', 'type', expect.stringContaining('must have a value')],
    ['type', 'type', expect.stringContaining('must have a value')],
    ['type=%20', 'type', 'must not be blank'],
    ['type=%ff', 'type', 'must be percent-encoded UTF-8'],
    ['type=%4', 'type', 'must be percent-encoded UTF-8'],
    ['type=a%00', 'type', 'must not contain a NUL character'],
    ['type=elevenlette', 'type', 'must have 1 to 10 characters'],
    ['typo=a', 'typo', expect.stringContaining('known are type, level, from, limit')],
    ['type[]=a', 'type[]', expect.stringContaining('known are')],
    ['__proto__=a', '__proto__', expect.stringContaining('known are')],
    ['constructor=a', 'constructor', expect.stringContaining('known are')],
    ['=a', '', expect.stringContaining('known are')],
    ['from=yesterday', 'from', expect.stringContaining('RFC 3339')],
    ['from=2026-02-30', 'from', expect.stringContaining('RFC 3339')],
    ['from=2026-11-20T06:18:03', 'from', expect.stringContaining('RFC 3339')],
    ['from=2026-11-20T24:00:00Z', 'from', expect.stringContaining('RFC 3339')],
    ['from=2026-11-20T06:18:03+02:00', 'from', expect.stringContaining('%2B')],
  ])('is refused: %s', async (query, name, message) => {
    const answer = await send(app, 'GET', `/api/v1/samples?${query}`);
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ [`query.${name}`]: message });
  });

  it.each([
    ['GET', '/api/v1/samples/1'],
    ['GET', '/api/v1/samples/open'],
    ['DELETE', '/api/v1/samples/1'],
    ['POST', '/api/v1/samples/1/act'],
    ['PATCH', '/api/v1/samples/1'],
  ])('is refused where the route takes none: %s %s', async (method, path) => {
    const answer = await send(app, method, `${path}?limit=1`, method === 'PATCH' ? { body: { name: 'a' } } : {});
    expect(answer.status).toBe(400);
    expect(Object.keys(faults(answer))).toEqual(['query.limit']);
  });

  it('is refused together with all others', async () => {
    const answer = await send(app, 'GET', '/api/v1/samples?limit=x&order=up&a=1&b=2&type=');
    expect(Object.keys(faults(answer)).sort()).toEqual([
      'query.a',
      'query.b',
      'query.limit',
      'query.order',
      'query.type',
    ]);
  });
});
