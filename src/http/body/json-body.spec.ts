import fc from 'fast-check';
import { extentOf, parseJsonBody, scanJson } from './json-body';

/** What the scan must find, derived from the parsed value alone, for values that JSON.stringify has written. */
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

function scanned(text: string): ReturnType<typeof scanJson> {
  return scanJson(text, extentOf(Buffer.from(text)));
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
      fc.property(value, fc.constantFrom(undefined, 2), (given, indent) => {
        const found = scanned(JSON.stringify(given, undefined, indent)).faults.map(({ field }) => field);
        expect([...new Set(found)]).toEqual([...new Set(faultyPaths(given))]);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds numbers that would change silently', () => {
    const text =
      '{"a":9007199254740993,"b":[-9007199254740993,9007199254740991,1e309,-1e309,1e308,0.12345678901234567890,1E+0400]}';
    expect(scanned(text).faults.map(({ field }) => field)).toEqual(['a', 'b[0]', 'b[2]', 'b[3]', 'b[6]']);
    expect(scanned('9007199254740992.0').faults).toEqual([]);
  });

  it('accepts an integer beyond 2^53−1 in exactly the digits that ECMAScript prints', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }), (integer) => {
        const isSafe = Number.isSafeInteger(Number(integer));
        const isPrintedSo = JSON.stringify(Number(integer)) === String(integer);
        expect(scanned(`[${integer}]`).faults).toHaveLength(isSafe || isPrintedSo ? 0 : 1);
        const printed = JSON.stringify([Number(integer)]);
        expect(scanned(printed).faults).toEqual([]);
      }),
    );
    expect(scanned('[9007199254740992,-100000000000000000000]').faults).toEqual([]);
    expect(scanned('[1000000000000000000000,18446744073709551616]').faults).toHaveLength(2);
  });

  it('ignores digits and letters inside texts', () => {
    expect(scanned('{"1e999":"12345678901234567890","b":"1e999 {[{[","c":"\\\\u0000 \\"__proto__"}').faults).toEqual(
      [],
    );
  });

  it('stops below the 32nd level', () => {
    expect(scanned('['.repeat(32) + ']'.repeat(32)).isTooDeep).toBe(false);
    expect(scanned('['.repeat(33) + ']'.repeat(33)).isTooDeep).toBe(true);
    expect(scanned(`[${'[],'.repeat(1000)}{}]`).isTooDeep).toBe(false);
    const [open, close] = ['{"[\\"[":['.repeat(16), ']}'.repeat(16)];
    expect(scanned(`${open}"[[\\\\",[]${close}`).isTooDeep).toBe(true);
    expect(scanned(`${open}"[[\\\\",{"a":1}${close}`).isTooDeep).toBe(true);
    expect(scanned(`${open}"[[\\\\","]]"${close}`).isTooDeep).toBe(false);
  });

  it('keeps paths short', () => {
    const [fault] = scanned(`{"${'k'.repeat(1000)}":1e999}`).faults;
    expect(fault?.field.length).toBeLessThan(120);
  });
});

describe('parseJsonBody', () => {
  it('parses each of several large bodies in a separate iteration of the event loop', async () => {
    const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(100_000) }));
    let turn = 0;
    const countTurns = (): void => {
      turn += 1;
      if (turn < 10) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const turns = await Promise.all([1, 2, 3].map(() => Promise.resolve(parseJsonBody(body)).then(() => turn)));
    expect(new Set(turns).size).toBe(3);
  });
});

describe('A large body', () => {
  const PART = 16 * 1024;
  const DEEP = `${'['.repeat(31)}${']'.repeat(31)}`;

  it.each(['"\\u0000"', '12345678901234567', '1e999', '{"__proto__":1}', DEEP, '"[\\\\\\"[", 1e999'])(
    'is scanned across the parts in which it is scanned, for %s',
    async (fault) => {
      for (let before = 0; before <= 34; before += 1) {
        const start = `{"a":[${'1,'.repeat(PART)}"`;
        const filler = 'x'.repeat(5 * PART - start.length - before - 2);
        const body = (found: string): Buffer => Buffer.from(`${start}${filler}",${found},1]}`);
        const outcome = await Promise.resolve()
          .then(() => parseJsonBody(body(fault)))
          .then(
            ({ faults }) => faults.length,
            () => 'refused',
          );
        expect({ before, outcome }).toEqual({ before, outcome: fault === DEEP ? 'refused' : 1 });
        expect((await parseJsonBody(body('"[[[[[[[[\\"[[[[["'))).faults).toEqual([]);
      }
    },
  );
});
