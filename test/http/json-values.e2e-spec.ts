import fc from 'fast-check';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule } from './sample.module';
import { type Answer, faults, send } from '../support/application/send';

describe('A free-form object', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  function post(properties: string): Promise<Answer> {
    return send(app, 'POST', '/api/v1/samples', { body: `{"name":"a","value":"b","properties":${properties}}` });
  }

  it.each([
    '{"constructor":{"prototype":{"polluted":true}},"prototype":[1],"toString":"x","hasOwnProperty":null,"then":1}',
    '{"a":"false","b":"1","c":"null","d":"2026-01-01","e":" ","":""}',
    '{"a":1.1,"b":1e300,"c":5e-324,"d":9007199254740991,"e":-9007199254740991,"f":0.1,"g":1e21,"h":123456789.123456789012}',
    '{"a":1e20,"b":9007199254740992,"c":-100000000000000000000}',
    '{"a":[[],{},[[null,false]]],"\u00e9\u{1f600}":"\\u00e9\\ud83d\\ude00\\n\\t"}',
  ])('comes back equal: %s', async (properties) => {
    const answer = await post(properties);
    expect(answer.status).toBe(201);
    expect(JSON.stringify(answer.body.body.properties)).toBe(JSON.stringify(JSON.parse(properties)));
  });

  it('is returned equal, with any content', async () => {
    const key = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('constructor', 'prototype', 'toString', 'length'),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.string({ unit: 'grapheme' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree')),
        fc.dictionary(key, tie('tree')),
      ),
    }));
    const isTakeable = (text: string): boolean => !/\\u0000|__proto__|-0\b/.test(text);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, tree), async (properties) => {
        const text = JSON.stringify(properties);
        fc.pre(isTakeable(text));
        const answer = await post(text);
        expect(answer.status).toBe(201);
        expect(JSON.stringify(answer.body.body.properties)).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps the last value of a repeated key', async () => {
    expect((await post('{"a":1,"a":2}')).body.body.properties).toEqual({ a: 2 });
  });

  it.each([
    ['{"__proto__":{"x":1}}', 'properties.__proto__', 'is not allowed as a key'],
    ['{"a":[{"\\u005f_proto__":1}]}', 'properties.a[0].__proto__', 'is not allowed as a key'],
    ['{"a":"x\\u0000y"}', 'properties.a', 'must not contain a NUL character'],
    ['{"a\\u0000":1}', 'properties["a\\u0000"]', 'must not contain a NUL character'],
    ['{"a":["\\ud800"]}', 'properties.a[0]', expect.stringContaining('surrogate')],
    ['{"\\udc00":1}', 'properties["\\udc00"]', expect.stringContaining('surrogate')],
    ['{"a":9007199254740993}', 'properties.a', expect.stringContaining('send it as a string')],
    ['{"a":{"b":-9007199254740993}}', 'properties.a.b', expect.stringContaining('send it as a string')],
    ['{"a":1e400}', 'properties.a', expect.stringContaining('send it as a string')],
    [`{"a":${'9'.repeat(400)}.5}`, 'properties.a', expect.stringContaining('send it as a string')],
  ])('is refused where it could not: %s', async (properties, field, message) => {
    const answer = await post(properties);
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ [field]: message });
  });

  it('is refused with every fault, including those of other members', async () => {
    const body = '{"valeu":1,"properties":{"a":1e999,"b":["\\u0000",12345678901234567890]},"name":"\\ud800"}';
    const answer = await send(app, 'POST', '/api/v1/samples?x=1', { body });
    expect(Object.keys(faults(answer)).sort()).toEqual([
      'name',
      'properties.a',
      'properties.b[0]',
      'properties.b[1]',
      'query.x',
      'valeu',
      'value',
    ]);
  });

  it('may be nested until the body has 32 levels', async () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
    expect((await post(nested(31))).status).toBe(201);
    const answer = await post(nested(32));
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual({ body: 'must be nested at most 32 levels deep' });
  });

  it('does no harm however deeply it is nested, in any member', async () => {
    const deep = `${'['.repeat(9_000)}${']'.repeat(9_000)}`;
    for (const body of [
      deep,
      `{"properties":${deep}}`,
      `{"name":${deep}}`,
      `{"tags":${deep}}`,
      `{"unknown":${deep}}`,
    ]) {
      const answer = await send(app, 'POST', '/api/v1/samples', { body });
      expect(answer.status).toBe(400);
      expect(faults(answer)['body']).toBe('must be nested at most 32 levels deep');
    }
  });

  it('does no harm in a member of another type', async () => {
    const objects = ['{"constructor":1,"then":2}', '{"toString":1}', '[{"__proto__":[]}]', '{"length":1e9}'];
    for (const object of objects) {
      for (const member of ['name', 'description', 'tags', 'level', 'priority', 'value', 'expiresAt']) {
        const answer = await send(app, 'POST', '/api/v1/samples', { body: `{"${member}":${object}}` });
        expect(answer.status).toBe(400);
      }
    }
  });

  it('with more than a thousand faults gets a short answer', async () => {
    const answer = await post(`{"a":[${'1e999,'.repeat(9_000)}1]}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error.details).toHaveLength(1000);
    expect(answer.body.error.message.length).toBeLessThan(1000);
  });

  /** Nested objects, whose keys have a hundred characters each. */
  function deepWithin(levels: number, value: string): string {
    return `${`{"${'k '.repeat(50)}":`.repeat(levels)}${value}${'}'.repeat(levels)}`;
  }

  it.each([
    ['faults at the end of long paths', `{"properties":${deepWithin(29, `[${'1e999,'.repeat(9_000)}1]`)}}`],
    ['keys that are not allowed', `{"properties":{"a":[${'{"__proto__":1},'.repeat(4_900)}1]}}`],
    ['unknown members', `{${members(9_900)}}`],
    ['unknown members with long names', `{${members(900, 'n'.repeat(1_000))}}`],
    ['unknown members with faults inside', `{${members(9_900, 'm', '1e999')}}`],
    ['wrong items of a list', `{"tags":[${'1,'.repeat(9_900)}1]}`],
    ['one item again and again', `{"tags":[${'"a",'.repeat(9_900)}"a"]}`],
  ])('is answered with a bounded list of %s', async (_, body) => {
    for (const path of ['/api/v1/samples', '/api/v1/samples/1/act']) {
      const answer = await send(app, 'POST', path, { body });
      expect(answer.status).toBe(400);
      expect(answer.body.error.code).toBe('VALIDATION_ERROR');
      expect(answer.body.error.details.length).toBeLessThanOrEqual(1000);
      expect(answer.text.length).toBeLessThan(300_000);
    }
  });
});

function members(count: number, name = 'm', value = '1'): string {
  return Array.from({ length: count }, (_, index) => `"${name}${index}":${value}`).join();
}
