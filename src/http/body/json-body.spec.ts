import fc from 'fast-check';
import { parseJsonBody } from './json-body';
import { extentOf } from './json-extent';
import { repeatedName } from '../../core/values/repeated-name';
import { scanJson } from './json-scanner';

/**
 * Returns the paths that the scan must find, from the parsed value alone, for values that JSON.stringify has written.
 */
function faultyPaths(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return isSound(value) ? [] : [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => faultyPaths(item, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const memberPath = pathOf(path, key);
    return [...(isSound(key) && key !== '__proto__' ? [] : [memberPath]), ...faultyPaths(member, memberPath)];
  });
}

function isSound(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

function pathOf(path: string, key: string): string {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

describe('scanJson', () => {
  it('finds the faults of any value, with their paths', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('\0', '\ud800', 'a\udc00', '\u{1f600}', '__proto__', '"\\', '1e999', '\\u0000', '{', '['),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true, max: 1e15, min: -1e15 }),
        fc.constantFrom(true, false, null),
        fc.array(tie('value'), { maxLength: 4 }),
        fc
          .array(fc.tuple(text, tie('value')), { maxLength: 4 })
          .map((entries) => Object.fromEntries(entries) as object),
      ),
    }));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (value, indent) => {
        const fields = scanJson(JSON.stringify(value, undefined, indent)).map(({ field }) => field);
        expect([...new Set(fields)]).toEqual([...new Set(faultyPaths(value))]);
      }),
      { numRuns: 300 },
    );
  });

  it('finds numbers that would change silently', () => {
    const text =
      '{"a":9007199254740993,"b":[-9007199254740993,9007199254740991,1e309,-1e309,1e308,0.12345678901234567890,1E+0400]}';
    expect(scanJson(text).map(({ field }) => field)).toEqual(['a', 'b[0]', 'b[2]', 'b[3]', 'b[6]']);
    expect(scanJson('9007199254740992.0')).toEqual([]);
  });

  it('accepts an integer beyond 2^53−1 in exactly the digits that ECMAScript prints', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }), (integer) => {
        const isSafe = Number.isSafeInteger(Number(integer));
        const isPrintedSo = JSON.stringify(Number(integer)) === String(integer);
        expect(scanJson(`[${integer}]`)).toHaveLength(isSafe || isPrintedSo ? 0 : 1);
        const printed = JSON.stringify([Number(integer)]);
        expect(scanJson(printed)).toEqual([]);
      }),
    );
    expect(scanJson('[9007199254740992,-100000000000000000000]')).toEqual([]);
    expect(scanJson('[1000000000000000000000,18446744073709551616]')).toHaveLength(2);
  });

  it('ignores digits and letters inside texts', () => {
    expect(scanJson('{"1e999":"12345678901234567890","b":"1e999 {[{[","c":"\\\\u0000 \\"__proto__"}')).toEqual([]);
  });

  it('keeps paths short', () => {
    const [fault] = scanJson(`{"${'k'.repeat(1000)}":1e999}`);
    expect(fault?.field.length).toBeLessThan(120);
  });
});

describe('repeatedName', () => {
  it('finds none in what JSON.stringify writes, and the one that a member was given before', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('a', '"', '":{', '\\', '__proto__'),
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(1, null, '":', '{"a":1,"a":1}', '\\"'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc
          .array(fc.tuple(name, tie('value')), { maxLength: 3 })
          .map((members) => Object.fromEntries(members) as object),
      ),
    })).value;
    fc.assert(
      fc.property(value, name, fc.constantFrom(undefined, 2), (inner, twice, indent) => {
        const text = JSON.stringify(inner, undefined, indent);
        expect(repeatedName(text)).toBeUndefined();
        const member = `${JSON.stringify(twice)} : ${text}`;
        expect(repeatedName(`{"list":[${text}, {${member},${member}}]}`)).toEqual(['list', 1, twice]);
      }),
    );
  });

  it('refuses it in a body only where the route says so', () => {
    const body = Buffer.from('{"policies":[{"effect":"deny","effect":"allow"}]}');
    const [fault] = parseJsonBody(body, { refusesRepeatedNames: true }).faults;
    expect(fault?.field).toBe('policies[0].effect');
    expect(parseJsonBody(body).faults).toEqual([]);
  });
});

describe('parseJsonBody', () => {
  const isTooDeep = (text: string): boolean => {
    try {
      parseJsonBody(Buffer.from(text));
      return false;
    } catch (error) {
      expect(String(error)).toContain('32 levels');
      return true;
    }
  };

  it('refuses more than 32 levels', () => {
    const nested = (levels: number): string => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect([isTooDeep(nested(32)), isTooDeep(nested(33))]).toEqual([false, true]);
    expect(isTooDeep(`{"a":[${'[],'.repeat(1000)}{}]}`)).toBe(false);
    const [open, close] = ['{"[\\"[":['.repeat(16), ']}'.repeat(16)];
    expect(isTooDeep(`${open}"[[\\\\",[]${close}`)).toBe(true);
    expect(isTooDeep(`${open}"[[\\\\",{"a":1}${close}`)).toBe(true);
    expect(isTooDeep(`${open}"[[\\\\","]]"${close}`)).toBe(false);
  });

  it.each(['"\\u0000"', '12345678901234567', '1e999', '{"__proto__":1}', '"[\\\\\\"[", 1e999'])(
    'finds what cannot be returned, wherever it is in a long text: %s',
    (fault) => {
      const body = (token: string): Buffer => Buffer.from(`{"a":["${'x'.repeat(100_000)}",${token},1]}`);
      expect(parseJsonBody(body(fault)).faults).toHaveLength(1);
      expect(parseJsonBody(body('"[[[[[[[[\\"[[[[["')).faults).toEqual([]);
    },
  );
});

/** Members and elements at any depth, of a parsed value. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + valuesIn(member), 0);
}

function extent(text: string, mostInAll?: number): ReturnType<typeof extentOf> {
  return extentOf(Buffer.from(text), { mostInAll });
}

describe('extentOf', () => {
  it('counts the members and elements of any value, however it is written', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(10), fc.constantFrom(undefined, 2), (value, below, indent) => {
        const body = { value, filler: Array<number>(9_900 - valuesIn(value) - below).fill(1) };
        const values = valuesIn(body);
        const fits = (extra: number): boolean =>
          extent(JSON.stringify({ ...body, extra: Array(extra).fill(1) }, undefined, indent)).excess === undefined;
        // `extra` itself is a value, too.
        expect([fits(9_999 - values), fits(10_000 - values)]).toEqual([true, false]);
      }),
    );
  });

  it('counts only what is outside of texts', () => {
    expect(extent(JSON.stringify({ a: ',[{"\\'.repeat(20_000) })).excess).toBeUndefined();
    expect(extent(JSON.stringify({ [',"\\'.repeat(20_000)]: {} })).excess).toBeUndefined();
  });

  it('says how deep a value is nested', () => {
    expect(extent('{"a":[[],{"b":"[[["}]}').levels).toBe(3);
  });

  it('bounds each item of a list, what is outside of the items, and everything together', () => {
    const ofValues = (count: number): number[] => Array<number>(count).fill(1);
    const refused = (body: object): string | undefined => extent(JSON.stringify(body), 25_000).excess;
    expect(refused({ list: [ofValues(10_000), { a: ofValues(9_999) }], other: ofValues(4_000) })).toBeUndefined();
    expect(refused({ list: [[], { a: ofValues(10_000) }] })).toMatch(/^must have at most 10000 values in item 2 of /);
    expect(refused({ list: [], other: { a: ofValues(9_998) } })).toMatch(/^must have at most 10000 values outside /);
    expect(refused({ list: Array(3).fill(ofValues(9_000)) })).toMatch(/^must have at most 25000 values \(/);
    expect(extent(JSON.stringify({ list: [ofValues(9_999)] })).excess).toMatch(/^must have at most 10000 values \(/);
  });
});
