import fc from 'fast-check';
import { extentOf } from './body-extent';

/** Members and elements at any depth, of a parsed value. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + valuesIn(member), 0);
}

function extent(text: string, mostInAll?: number): ReturnType<typeof extentOf> {
  return extentOf(Buffer.from(text), mostInAll);
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
