import type { JsonValue } from '../../../core/json/json-value';
import type { Day } from './clock';
import {
  type ConditionRequest,
  type PolicyCondition,
  type Truth,
  NO_FACTS,
  compileCondition,
  truthOf,
} from './condition';

const NOW = '2026-01-05T12:00:00.000Z';

/** A text of the length to which two texts of a request are compared, and one above it. */
const [TEXT, LONG] = ['x'.repeat(4_096), 'x'.repeat(4_097)] as const;

function truth(
  condition: PolicyCondition,
  a: JsonValue | undefined,
  more: Partial<Pick<ConditionRequest, 'at' | 'resourceId' | 'principal'>> = {},
): Truth {
  const others = { b: 5, text: TEXT, long: LONG };
  const parameters = a === undefined ? others : { a, ...others };
  const subject = { type: 'user', id: 'x', roles: [] };
  const request = { subject, resourceType: 'document', resourceId: 'a', parameters, at: NOW, ...more };
  return truthOf([compileCondition(condition)], request, NO_FACTS);
}

/** Texts of 65,536 characters together. */
const PATHS = Array.from({ length: 64 }, () => `/s/${'a'.repeat(1_021)}`);
const ADDRESSES = Array.from({ length: 64 }, () => `${'a'.repeat(1_020)}@a.b`);

describe('A condition', () => {
  const of = (op: string, value: unknown): PolicyCondition => ({ parameter: '/a', op, value }) as PolicyCondition;

  it.each<[op: string, value: unknown, requestValue: JsonValue | undefined, truth: Truth]>([
    ['eq', 4711, 4711, true],
    ['eq', 4711, 4712, false],
    ['eq', 4711, '4711', 'unknown'],
    ['eq', 4711, true, 'unknown'],
    ['eq', 4711, null, false],
    ['eq', 4711, undefined, 'unknown'],
    ['eq', null, 'x', false],
    ['eq', null, null, true],
    ['eq', null, [], 'unknown'],
    ['ne', '4711', 4711, 'unknown'],
    ['ne', '4711', '4712', true],
    ['ne', '4711', null, true],
    ['ne', null, 5, true],
    ['in', [1, 'x'], 'y', false],
    ['in', [1, 'x'], true, 'unknown'],
    ['in', [1, 2], '1', 'unknown'],
    ['in', [1, 2], null, false],
    ['in', [1, null], null, true],
    ['in', [1, null], 'x', 'unknown'],
    ['not_in', [4711], '4711', 'unknown'],
    ['not_in', [4711], 5, true],
    ['not_in', [4711], null, true],
    ['eq', { parameter: '/b' }, 5, true],
    ['eq', { parameter: '/b' }, 6, false],
    ['eq', { parameter: '/b' }, '5', 'unknown'],
    ['eq', { parameter: '/c' }, 5, 'unknown'],
    ['lte', { parameter: '/b' }, 5, true],
    ['lt', { parameter: '/b' }, 5, false],
    ['gt', { parameter: '/b' }, '6', 'unknown'],
    ['eq', { parameter: '/text' }, TEXT, true],
    ['ne', { parameter: '/text' }, 'y', true],
    ['ne', { parameter: '/text' }, `${TEXT}x`, 'unknown'],
    ['eq', { parameter: '/long' }, LONG, 'unknown'],
    ['ne', { parameter: '/long' }, 'y', 'unknown'],
    ['eq', { parameter: '/long' }, null, 'unknown'],
  ])('%s %j of %j is %s', (op, value, requestValue, expected) =>
    expect(truth(of(op, value), requestValue)).toBe(expected),
  );

  it('reads the resource once for all conditions of a request', () => {
    const split = jest.spyOn(String.prototype, 'split');
    for (let index = 0; index < 100; index += 1)
      expect(truth({ resource: 'last', op: 'eq', value: { resource: 'last' } }, 1, { resourceId: 'a/read/once' })).toBe(
        true,
      );
    const reads = split.mock.contexts.filter((text) => String(text) === 'a/read/once').length;
    split.mockRestore();
    expect(reads).toBe(1);
  });

  it.each<[pointer: string, op: string, value: unknown, truth: Truth]>([
    ['/a', 'eq', 'x', 'unknown'],
    ['/a', 'exists', true, true],
    ['/a/$secret', 'eq', 'x', 'unknown'],
    ['/a/$secret', 'ne', 'y', 'unknown'],
    ['/a/$secret', 'prefix', '', 'unknown'],
    ['/a/admin', 'exists', true, 'unknown'],
    ['/a/admin/level', 'exists', false, 'unknown'],
    ['/c/$hmac', 'ne', 'y', 'unknown'],
    ['/c/$hmac', 'exists', true, true],
    ['/c/$hmac/x', 'exists', true, 'unknown'],
    ['/c/bytes', 'lt', 5, true],
    ['/c/bytes', 'exists', true, true],
    ['/c/bytes/x', 'exists', false, 'unknown'],
    ['/c', 'exists', true, true],
    ['/c', 'exists', false, false],
    ['/c', 'ne', 'y', 'unknown'],
    ['/c/admin', 'exists', true, 'unknown'],
    ['/c/admin', 'exists', false, 'unknown'],
    ['/c/admin', 'eq', 'x', 'unknown'],
    ['/c/0', 'exists', false, 'unknown'],
    ['/c/admin/level', 'exists', true, 'unknown'],
    ['/c/*', 'ne', 'y', 'unknown'],
    ['/d/admin', 'exists', false, true],
    ['/b', 'eq', { parameter: '/a/$secret' }, 'unknown'],
    ['/list/*/$secret', 'eq', 'x', 'unknown'],
    ['/list/*', 'ne', 'y', 'unknown'],
  ])('sees nothing of what was replaced: %s %s %j is %s', (parameter, op, value, expected) => {
    const secret = { $secret: 'x' };
    const parameters = { a: secret, b: 'x', c: { $hmac: 'x', bytes: 3 }, d: { $hmac: 'x' }, list: [secret, secret] };
    const condition = compileCondition({ parameter, op, value } as PolicyCondition);
    const request = { subject: { type: 'user', id: 'x', roles: [] }, resourceType: 'd', resourceId: 'a', at: NOW };
    expect(truthOf([condition], { ...request, parameters }, NO_FACTS)).toBe(expected);
  });

  it.each<[base: string, requestValue: JsonValue, truth: Truth]>([
    ['/srv/data', '/srv/data', true],
    ['/srv/data', '/srv/data/a/b', true],
    ['/srv/data', '/srv/data2', false],
    ['/srv/data', 'srv/data/a', false],
    ['srv/data', '/srv/data/a', false],
    ['/srv/data', '/srv/data/../secret', 'unknown'],
    ['/srv/data', '/srv/data/./a', 'unknown'],
    ['/srv/data', '/srv//data/a', 'unknown'],
    ['/srv/data', '//srv/data/a', 'unknown'],
    ['/srv/data', '/srv/data/', 'unknown'],
    ['/srv/data', '/srv/data\\..\\secret', 'unknown'],
    ['/srv/data', '/srv/data/%2e%2e/secret', 'unknown'],
    ['/srv/data', '/srv/data/\uff0e\uff0e/secret', 'unknown'],
    ['/srv/data', '/srv/data/a\0b', 'unknown'],
    ['/srv/data', `/srv/data/${'a'.repeat(5_000)}`, 'unknown'],
    ['/srv/data', '', 'unknown'],
    ['/srv/data', 5, 'unknown'],
    ['/srv/my data', '/srv/my%20data/a', 'unknown'],
    ['/srv/caf\u00e9', '/srv/cafe\u0301/a', true],
    ['https://h', 'https://h/a', true],
    ['https://h', 'https://h', 'unknown'],
    ['https://h', 'https://h.evil/a', false],
    ['https://h', 'https://h@evil/a', 'unknown'],
    ['https://h', 'https://h/a?next=b', 'unknown'],
    ['https://h', 'HTTPS://h/a', 'unknown'],
    ['https://h/a', 'https://h/a/b', true],
    ['https://h/a', 'https://h/ab', false],
    ['https://h/a', 'https://h/a/../b', 'unknown'],
    ['file:///srv', 'file:///srv/a', true],
  ])('within %s finds %j: %s', (base, requestValue, expected) =>
    expect(truth(of('within', base), requestValue)).toBe(expected),
  );

  it.each<[pointer: string, requestValue: JsonValue, truth: Truth]>([
    ['/a/*', [1, 2], true],
    ['/a/*', [1, 9], 'unknown'],
    ['/a/*', [8, 9], false],
    ['/a/*', [1, '2'], 'unknown'],
    ['/a/*', [], 'unknown'],
    ['/a/*', { '*': 1 }, true],
    ['/a/*', 1, 'unknown'],
    ['/a/*/n', [{ n: 1 }, { n: 2 }], true],
    ['/a/*/n', [{ n: 1 }, {}], 'unknown'],
  ])('%s at most 5, of %j, is %s', (parameter, requestValue, expected) =>
    expect(truth({ parameter, op: 'lte', value: 5 }, requestValue)).toBe(expected),
  );

  it.each<[op: string, value: unknown, items: readonly JsonValue[], truth: Truth]>([
    ['within', '/s', PATHS, true],
    ['within', '/s', [...PATHS, '/'], 'unknown'],
    ['within', '/t', PATHS, false],
    ['within', '/t', [...PATHS, '/s'], 'unknown'],
    ['domain', ['a.b'], ADDRESSES, true],
    ['domain', ['a.b'], [...ADDRESSES, 'a.b'], 'unknown'],
    ['prefix', '/s', [...PATHS, '/s'], true],
    ['in', ['x'], [...PATHS, '/s'], false],
  ])('%s %j reads up to 65,536 characters of a list', (op, value, items, expected) => {
    expect(truth({ parameter: '/a/*', op, value } as PolicyCondition, [...items] as JsonValue)).toBe(expected);
    const members = items.map((path) => ({ path }));
    expect(truth({ parameter: '/a/*/path', op, value } as PolicyCondition, members as JsonValue)).toBe(expected);
  });

  it.each<[requestValue: JsonValue | undefined, truth: Truth]>([
    ['acme.example', true],
    ['ACME.Example', true],
    ['eu.acme.example', true],
    ['evil-acme.example', false],
    ['acme.example.evil', false],
    ['example', false],
    ['acme.example.', 'unknown'],
    ['.acme.example', 'unknown'],
    ['acme..example', 'unknown'],
    ['acme.example:80', 'unknown'],
    ['acme.example/a', 'unknown'],
    ['acme_b.acme.example', 'unknown'],
    ['-a.acme.example', 'unknown'],
    [`${'a'.repeat(63)}.acme.example`, true],
    [`${'a'.repeat(64)}.acme.example`, 'unknown'],
    [`${'a.'.repeat(121)}acme.example`, 'unknown'],
    ['127.0.0.1', 'unknown'],
    ['0x7f.1', 'unknown'],
    ['[::1]', 'unknown'],
    ['', 'unknown'],
    ['acme.example\0', 'unknown'],
    ['acme.example ', 'unknown'],
    ['acme\u00ad.example', 'unknown'],
    ['ａcme。example', true],
    ['bücher.example', true],
    ['BÜCHER.example', true],
    ['xn--bcher-kva.example', true],
    ['a.bu\u0308cher.example', true],
    ['bucher.example', false],
    ['straße.example', 'unknown'],
    ['STRAẞE.example', 'unknown'],
    ['νέος.acme.example', 'unknown'],
    ['ann@straße.example', 'unknown'],
    ['straße@acme.example', true],
    ['ann@acme.example', true],
    ['ann@eu.acme.example', true],
    ['ann@bücher.example', true],
    ['ann@evil-acme.example', false],
    ['ann@acme.example@evil.example', 'unknown'],
    ['ann\uff20evil.example@acme.example', 'unknown'],
    ['@acme.example', 'unknown'],
    ['ann@', 'unknown'],
    ['ann b@acme.example', 'unknown'],
    ['ann@acme.example, bob@evil.example', 'unknown'],
    ['ann,bob@acme.example', 'unknown'],
    ['"ann"@acme.example', 'unknown'],
    ["o'ann@acme.example", 'unknown'],
    ['Ann <ann@acme.example>', 'unknown'],
    ['ann+a.b%c!d=e&f@acme.example', true],
    ['evil.example/@acme.example', 'unknown'],
    ['//evil.example/ann@acme.example', 'unknown'],
    ['http:evil.example/ann@acme.example', 'unknown'],
    ['evil.example\\@acme.example', 'unknown'],
    ['evil.example?@acme.example', 'unknown'],
    ['evil.example#@acme.example', 'unknown'],
    ['evil.example:a@acme.example', 'unknown'],
    ['evil.example;ann@acme.example', 'unknown'],
    ['[evil.example]ann@acme.example', 'unknown'],
    ['(evil.example)ann@acme.example', 'unknown'],
    ['evil.example\uff0f@acme.example', 'unknown'],
    ['evil.example\u2105@acme.example', 'unknown'],
    ['ann@acme.example.', 'unknown'],
    ['ann@[127.0.0.1]', 'unknown'],
    ['ann@acme.example\n', 'unknown'],
    ['https://acme.example', true],
    ['https://acme.example/', true],
    ['https://acme.example/a/b', true],
    ['https://eu.acme.example:8443/a?b=c@d#e', true],
    ['https://acme.example?b=c', true],
    ['https://acme.example#c', true],
    ['https://evil.example/acme.example', false],
    ['https://evil.example?acme.example', false],
    ['https://acme.example?@evil.example', 'unknown'],
    ['https://acme.example#\\@evil.example', 'unknown'],
    ['https://acme.example@evil.example/', 'unknown'],
    ['https://acme.example\\@evil.example/', 'unknown'],
    ['https://acme.example:443/a', 'unknown'],
    ['HTTPS://acme.example/a', 'unknown'],
    ['https://ACME.example/a', 'unknown'],
    ['https://bücher.example/a', 'unknown'],
    ['https://acme.example/a/../b', 'unknown'],
    ['https://acme.example/a//b', 'unknown'],
    ['https://acme.example./a', 'unknown'],
    ['https://127.0.0.1/', 'unknown'],
    ['file:///acme.example', 'unknown'],
    ['s3://acme.example/a', true],
    ['a://b://acme.example', 'unknown'],
    [`https://acme.example/?${'a'.repeat(5_000)}`, 'unknown'],
    [5, 'unknown'],
    [null, 'unknown'],
    [undefined, 'unknown'],
  ])('domain finds %j: %s', (requestValue, expected) =>
    expect(truth(of('domain', ['acme.example', 'xn--bcher-kva.example']), requestValue)).toBe(expected),
  );

  const customer = { type: 'customer', id: '4711', roles: [] };
  const person = { agentId: 'agt_1', agentName: 'ann', kind: 'human', roles: [] } as const;
  it.each<[condition: object, request: object, truth: Truth]>([
    [{ principal: 'id', op: 'eq', value: { resource: 'last' } }, { resourceId: 'customers/4711' }, true],
    [{ principal: 'id', op: 'eq', value: { resource: 'last' } }, { resourceId: '/4711' }, true],
    [{ principal: 'id', op: 'eq', value: { resource: 'last' } }, { resourceId: 'customers/4711/orders' }, false],
    [{ principal: 'id', op: 'ne', value: { resource: 'last' } }, { resourceId: 'customers/4712' }, true],
    [{ principal: 'id', op: 'eq', value: { resource: 'last' } }, { principal: null }, 'unknown'],
    [{ principal: 'id', op: 'exists', value: true }, { principal: null }, false],
    [{ principal: 'id', op: 'exists', value: true }, {}, true],
    [{ principal: 'type', op: 'exists', value: false }, { principal: null }, true],
    [{ principal: 'type', op: 'in', value: ['customer', 'user'] }, {}, true],
    [{ principal: 'type', op: 'not_in', value: ['customer'] }, { principal: person }, true],
    [{ principal: 'id', op: 'eq', value: 'agt_1' }, { principal: person }, true],
    [{ principal: 'type', op: 'eq', value: 'agent' }, { principal: person }, true],
    [{ principal: 'id', op: 'eq', value: 4711 }, {}, 'unknown'],
    [{ principal: 'id', op: 'eq', value: { parameter: '/a' } }, {}, true],
    [{ principal: 'id', op: 'eq', value: { parameter: '/b' } }, {}, 'unknown'],
    [{ parameter: '/a', op: 'eq', value: { principal: 'id' } }, {}, true],
    [{ parameter: '/a', op: 'ne', value: { principal: 'id' } }, { principal: null }, 'unknown'],
    [{ parameter: '/a', op: 'eq', value: { resource: 'last' } }, { resourceId: 'https://h/a/4711' }, true],
    [{ resource: 'last', op: 'eq', value: 'caf\u00e9' }, { resourceId: 'a/cafe\u0301' }, true],
    [{ resource: 'last', op: 'eq', value: 'a b' }, { resourceId: 'a/a%20b' }, 'unknown'],
    [{ resource: 'last', op: 'ne', value: 'a b' }, { resourceId: 'a/a%20b' }, 'unknown'],
    [{ resource: 'last', op: 'in', value: ['a b', 'c'] }, { resourceId: 'a/a%20b' }, 'unknown'],
    [{ resource: 'last', op: 'not_in', value: ['a b', 'c'] }, { resourceId: 'a/a%20b' }, 'unknown'],
    [{ resource: 'last', op: 'eq', value: 'a%20b' }, { resourceId: 'a/a%20b' }, true],
    [{ resource: 'last', op: 'ne', value: 'a%20b' }, { resourceId: 'a/a%20b' }, false],
    [{ resource: 'last', op: 'eq', value: 'c' }, { resourceId: 'a/a%20b' }, false],
    [{ resource: 'last', op: 'exists', value: true }, { resourceId: 'a/a%20b' }, true],
    [
      { principal: 'id', op: 'ne', value: { resource: 'last' } },
      { principal: { ...customer, id: 'a@b' }, resourceId: 'a/a%40b' },
      'unknown',
    ],
    [
      { principal: 'id', op: 'eq', value: { resource: 'last' } },
      { principal: { ...customer, id: 'a@b' }, resourceId: 'a/a%40b' },
      'unknown',
    ],
    [{ resource: 'last', op: 'in', value: ['a', '7'] }, { resourceId: 'x/7' }, true],
    [{ resource: 'last', op: 'exists', value: true }, {}, true],
    [{ resource: 'last', op: 'domain', value: ['acme.example'] }, { resourceId: 'mails/ann@acme.example' }, true],
    [
      { principal: 'id', op: 'domain', value: ['acme.example'] },
      { principal: { ...customer, id: 'ann@evil.example' } },
      false,
    ],
  ])('%j of %j is %s', (condition, request, expected) =>
    expect(truth(condition as PolicyCondition, '4711', { principal: customer, ...request })).toBe(expected),
  );

  it.each<[except: string[], days: readonly Day[] | null, span: [string, string], at: string, truth: boolean]>([
    [['2026-12-25'], null, ['08:00', '17:00'], '2026-12-25T09:00:00.000Z', false],
    [['2026-12-25'], null, ['08:00', '17:00'], '2026-12-26T09:00:00.000Z', true],
    [['2026-12-25'], ['fri'], ['08:00', '17:00'], '2026-12-18T09:00:00.000Z', true],
    // A span over midnight begins on the day before.
    [['2026-12-25'], null, ['22:00', '06:00'], '2026-12-25T03:00:00.000Z', true],
    [['2026-12-25'], null, ['22:00', '06:00'], '2026-12-25T22:00:00.000Z', false],
    [['2026-12-25'], null, ['22:00', '06:00'], '2026-12-26T03:00:00.000Z', false],
    [['2026-12-25'], null, ['22:00', '06:00'], '2026-12-26T22:00:00.000Z', true],
    // In Berlin the day begins at 23:00 of the day before, and in summer at 22:00.
    [['2026-12-25'], null, ['00:00', '24:00'], '2026-12-24T22:59:59.999Z', true],
    [['2026-12-25'], null, ['00:00', '24:00'], '2026-12-24T23:00:00.000Z', false],
    [['2026-05-01'], null, ['00:00', '24:00'], '2026-04-30T22:00:00.000Z', false],
    [['1969-12-31'], null, ['00:00', '24:00'], '1969-12-31T12:00:00.000Z', false],
  ])('by a clock without %j, on %j between %j, at %s is %s', (except, days, value, at, expected) =>
    expect(truth({ clock: 'Europe/Berlin', days, except, op: 'between', value }, undefined, { at })).toBe(expected),
  );

  const weekend: readonly Day[] = ['sat', 'sun'];
  // 2026-01-02 is a Friday; New York is five hours behind UTC.
  it.each<[zone: string, days: readonly Day[] | null, span: [string, string], at: string, truth: boolean]>([
    ['UTC', null, ['08:00', '17:00'], '2026-01-02T08:00:00.000Z', true],
    ['UTC', null, ['08:00', '17:00'], '2026-01-02T16:59:59.999Z', true],
    ['UTC', null, ['08:00', '17:00'], '2026-01-02T17:00:00.000Z', false],
    ['America/New_York', null, ['08:00', '17:00'], '2026-01-02T12:59:00.000Z', false],
    ['America/New_York', null, ['08:00', '17:00'], '2026-01-02T13:00:00.000Z', true],
    ['America/New_York', ['fri'], ['00:00', '24:00'], '2026-01-03T04:59:00.000Z', true],
    ['America/New_York', ['fri'], ['00:00', '24:00'], '2026-01-03T05:00:00.000Z', false],
    ['Europe/Berlin', null, ['08:00', '09:00'], '2026-07-01T06:30:00.000Z', true],
    ['UTC', weekend, ['22:00', '06:00'], '2026-01-02T23:00:00.000Z', false],
    ['UTC', weekend, ['22:00', '06:00'], '2026-01-03T05:00:00.000Z', false],
    ['UTC', weekend, ['22:00', '06:00'], '2026-01-03T22:00:00.000Z', true],
    ['UTC', weekend, ['22:00', '06:00'], '2026-01-05T05:59:00.000Z', true],
    ['UTC', weekend, ['22:00', '06:00'], '2026-01-05T06:00:00.000Z', false],
    ['UTC', ['fri'], ['22:00', '00:00'], '2026-01-03T00:00:00.000Z', false],
    ['UTC', ['fri'], ['24:00', '01:00'], '2026-01-03T00:30:00.000Z', true],
    // British Columbia stays at UTC-7 from November 2026 on.
    ['America/Vancouver', null, ['08:00', '17:00'], '2026-11-27T15:00:00.000Z', true],
    ['America/Vancouver', null, ['08:00', '17:00'], '2026-11-27T14:59:00.000Z', false],
    ['America/Vancouver', null, ['08:00', '17:00'], '2027-01-15T00:00:00.000Z', false],
    ['America/Vancouver', null, ['08:00', '17:00'], '2027-07-01T15:00:00.000Z', true],
    // 02:00 to 03:00 is missing: the span begins at the jump.
    ['Europe/Berlin', null, ['02:30', '04:00'], '2026-03-29T00:59:59.999Z', false],
    ['Europe/Berlin', null, ['02:30', '04:00'], '2026-03-29T01:00:00.000Z', true],
    ['Europe/Berlin', null, ['01:30', '02:30'], '2026-03-29T01:00:00.000Z', false],
    ['Europe/Berlin', null, ['02:15', '02:45'], '2026-03-29T01:00:00.000Z', false],
    // 02:00 to 03:00 comes twice.
    ['Europe/Berlin', null, ['02:30', '02:45'], '2026-10-25T00:30:00.000Z', true],
    ['Europe/Berlin', null, ['02:30', '02:45'], '2026-10-25T01:00:00.000Z', false],
    ['Europe/Berlin', null, ['02:30', '02:45'], '2026-10-25T01:30:00.000Z', true],
    // 02:00 to 02:30 is missing, and 01:30 to 02:00 comes twice.
    ['Australia/Lord_Howe', null, ['02:15', '03:00'], '2026-10-03T15:29:00.000Z', false],
    ['Australia/Lord_Howe', null, ['02:15', '03:00'], '2026-10-03T15:30:00.000Z', true],
    ['Australia/Lord_Howe', null, ['01:45', '01:50'], '2026-04-04T14:45:00.000Z', true],
    ['Australia/Lord_Howe', null, ['01:45', '01:50'], '2026-04-04T15:15:00.000Z', true],
    // Samoa had no Friday, 30 December 2011: what begins on it begins at the jump.
    ['Pacific/Apia', ['fri'], ['00:00', '24:00'], '2011-12-30T09:59:00.000Z', false],
    ['Pacific/Apia', ['fri'], ['00:00', '24:00'], '2011-12-30T10:00:00.000Z', false],
    ['Pacific/Apia', ['fri'], ['22:00', '06:00'], '2011-12-30T10:00:00.000Z', true],
    ['Pacific/Apia', ['thu'], ['22:00', '06:00'], '2011-12-30T10:00:00.000Z', false],
    // Ireland's winter and Morocco's Ramadan have the negative saving.
    ['Europe/Dublin', null, ['01:30', '03:00'], '2026-03-29T01:00:00.000Z', true],
    ['Europe/Dublin', null, ['01:30', '01:40'], '2026-10-25T01:30:00.000Z', true],
    ['Africa/Casablanca', null, ['02:30', '04:00'], '2026-02-15T02:00:00.000Z', false],
    ['Africa/Casablanca', null, ['02:30', '04:00'], '2026-02-15T02:30:00.000Z', true],
    ['Africa/Casablanca', null, ['02:30', '04:00'], '2026-03-22T02:00:00.000Z', true],
    ['europe/berlin', null, ['08:00', '09:00'], '2026-07-01T06:30:00.000Z', true],
  ])('by the clock of %s, on %j between %j, at %s is %s', (clock, days, value, at, expected) =>
    expect(truth({ clock, days, op: 'between', value }, undefined, { at })).toBe(expected),
  );
});
