import * as fc from 'fast-check';
import { canonicalize } from 'json-canonicalize';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../../core/json/json-value';
import { canonicalJson, canonicalParts } from './canonical-json';

/** The test data of https://github.com/cyberphone/json-canonicalization, if it is checked out next to the project. */
const VECTORS = join(__dirname, '../../../../shared/vectors/jcs/testdata');
const whenPresent = existsSync(VECTORS) ? describe : describe.skip;

function parsed(text: string): JsonValue {
  return JSON.parse(text) as JsonValue;
}

whenPresent('RFC 8785 test data (../shared/vectors/jcs)', () => {
  const names = existsSync(VECTORS) ? readdirSync(join(VECTORS, 'input')) : ['absent'];

  it.each(names)('%s', (name) => {
    const output = canonicalJson(parsed(readFileSync(join(VECTORS, 'input', name), 'utf8')));
    expect(output).toBe(readFileSync(join(VECTORS, 'output', name), 'utf8'));
    const hex = readFileSync(join(VECTORS, 'outhex', name.replace('.json', '.txt')), 'utf8');
    expect(Buffer.from(output, 'utf8').toString('hex')).toBe(hex.replace(/\s/g, ''));
  });
});

describe('Canonical JSON', () => {
  /** IEEE 754 doubles and their texts, from RFC 8785, appendix B. */
  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s as %s', (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });

  it('sorts members by UTF-16 code units, at every level', () => {
    const value = parsed(
      '{"\u20ac":1,"\\r":2,"\ufb33":3,"1":4,"😀":5,"\u0080":6,"ö":7,"b":{"z":1,"a":[{"d":1,"c":2}]}}',
    );
    const sorted = '{"\\r":2,"1":4,"b":{"a":[{"c":2,"d":1}],"z":1},"\u0080":6,"ö":7,"\u20ac":1,"😀":5,"\ufb33":3}';
    expect(canonicalJson(value)).toBe(sorted);
  });

  it('treats members with names of built-in ones as ordinary members', () => {
    const value = parsed('{"toString":1,"constructor":{"prototype":[]},"toJSON":"x"}');
    expect(canonicalJson(value)).toBe('{"constructor":{"prototype":[]},"toJSON":"x","toString":1}');
  });

  it.each([NaN, Infinity, undefined, () => 1, Symbol('s'), 1n])('refuses what JSON cannot carry: %p', (value) => {
    for (const holder of [value, [value], { a: value }]) {
      expect(() => canonicalJson(holder as JsonValue)).toThrow(TypeError);
    }
  });

  it('is the same whatever the order of members', () => {
    const value = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.string({ unit: 'binary' }), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.oneof(fc.string(), fc.nat(20).map(String)), tie('value'), {
          maxKeys: 5,
          noNullPrototype: true,
        }),
      ),
    })).value;
    const inOrder = (value: JsonValue, compare: (one: string, other: string) => number): JsonValue => {
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map((item: JsonValue) => inOrder(item, compare));
      const members = Object.entries(value).sort(([one], [other]) => compare(one, other));
      return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member, compare)]));
    };
    const ascending = (one: string, other: string): number => (one < other ? -1 : 1);
    fc.assert(
      fc.property(value, (sample) => {
        const expected = canonicalize(sample);
        expect(canonicalJson(sample)).toBe(expected);
        expect(canonicalJson(inOrder(sample, ascending))).toBe(expected);
        expect(canonicalJson(inOrder(sample, (one, other) => ascending(other, one)))).toBe(expected);
      }),
    );
  });

  it('agrees with another implementation on any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 }), (value) => {
        expect(canonicalJson(value as JsonValue)).toBe(canonicalize(value));
      }),
    );
  });

  it('is the same in parts, of any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
        expect([...canonicalParts(value as JsonObject)].join('')).toBe(canonicalJson(value as JsonObject));
      }),
    );
  });
});
