import fc from 'fast-check';
import { Slices } from '../shared/slices';
import { parseInSlices } from './json-builder';
import { JsonCheck } from './json-check';

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isAccepted(text: string, characters: number): boolean {
  const check = new JsonCheck(text);
  try {
    while (!check.advance(characters));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return false;
  }
}

describe('JsonCheck', () => {
  it('accepts exactly what JSON.parse does, however the text is divided', () => {
    const part = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '\\"',
        '\\u12aF',
        '\\u12',
        '\\x',
        'a',
        '"a"',
        '0',
        '01',
        '-',
        '-1',
        '.5',
      ],
      ...[
        '1.5',
        'e5',
        '1E+2',
        '1e',
        'true',
        'nul',
        'null',
        'false',
        ' ',
        '\n',
        '\t',
        '\r',
        '\u00a0',
        '\u0000',
        'é',
        '😀',
      ],
    );
    const valid = fc
      .tuple(fc.json(), fc.constantFrom(0, 2))
      .map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent));
    const mutated = fc.tuple(valid, fc.nat(), fc.nat(3), part).map(([text, place, removed, put]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + removed);
    });
    const text = fc.oneof(
      valid,
      mutated,
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (given, characters) => {
        expect(isAccepted(given, characters)).toBe(isParsed(given));
      }),
      { numRuns: 5000 },
    );
  });

  it('builds the same value as JSON.parse, with any names of members', async () => {
    const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '1', '\\', '"'));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.array(tie('value')), fc.dictionary(name, tie('value'))),
    }));
    await fc.assert(
      fc.asyncProperty(value, fc.constantFrom(0, 2), async (given, indent) => {
        const text = JSON.stringify(given, null, indent);
        const parsed = await parseInSlices(text, new Slices());
        expect(parsed).toEqual(JSON.parse(text));
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
    expect(await parseInSlices('{"a":1,"b":-0,"a":2}', new Slices())).toEqual({ a: 2, b: -0 });
    await expect(parseInSlices('{"a":1,}', new Slices())).rejects.toThrow(SyntaxError);
  });

  it('accepts texts of any length and depth', () => {
    expect(isAccepted(JSON.stringify('x'.repeat(5_000_000)), 1000)).toBe(true);
    expect(isAccepted(JSON.stringify('"\n'.repeat(1_000_000)), 1000)).toBe(true);
    expect(isAccepted('['.repeat(100_000) + ']'.repeat(100_000), 1000)).toBe(true);
    expect(isAccepted('['.repeat(100_000), 1000)).toBe(false);
  });
});
