import fc from 'fast-check';
import { StoredJson } from '../../json/stored-json';
import { Slices } from '../../shared/slices';
import { isDivisible, isLonger, jsonParts } from './json-parts';

describe('jsonParts', () => {
  it('together equal the output of JSON.stringify', async () => {
    const stored = await StoredJson.of('{"a":[1,"é\\n"]}', new Slices());
    const member = fc.oneof(fc.jsonValue(), fc.constantFrom(stored, undefined));
    const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', '"', 'data', 'text'));
    const record = fc.dictionary(name, fc.oneof(member, fc.dictionary(name, member, { maxKeys: 3 })), { maxKeys: 4 });
    const page = fc.record(
      { data: fc.array(record), total: fc.nat(), nextCursor: fc.string() },
      { requiredKeys: ['data'] },
    );
    fc.assert(
      fc.property(fc.oneof(page, record), (answer) => {
        if (!isDivisible(answer)) return;
        expect([...jsonParts(answer)].join('')).toBe(JSON.stringify(answer));
      }),
    );
    expect(isDivisible({ id: 'x', audit: { details: stored } })).toBe(true);
    expect(isDivisible({ id: 'x', properties: { a: 1 } })).toBe(false);
  });

  it('are short where an answer has long lists, at any depth', async () => {
    const stored = await StoredJson.of(JSON.stringify({ subjects: ['y'.repeat(2_000)] }), new Slices());
    const names = Array.from({ length: 5_000 }, (_, index) => `name "${index}" `.padEnd(40, 'x'));
    const regions = Array.from({ length: 20 }, (_, index) => ({ index, from: { effect: 'allow' }, subjects: names }));
    for (const answer of [
      { complete: true, effects: regions, reason: null, warnings: undefined },
      { effect: 'require_approval', approval: { approvers: [{ subjects: names }, undefined] } },
      { effects: Array.from({ length: 100 }, () => stored), shadowed: [] },
    ]) {
      expect(isDivisible(answer)).toBe(true);
      const parts = [...jsonParts(answer)];
      expect(parts.join('')).toBe(JSON.stringify(answer));
      expect(parts.filter(({ length }) => length >= 65_536)).toEqual([]);
    }
    expect(isDivisible({ effects: regions.slice(0, 1).map(() => ({ subjects: names.slice(0, 9) })) })).toBe(false);
  });
});

describe('isLonger', () => {
  it('never considers a value longer than its JSON, or shorter than its texts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(200), (value, most) => {
        if (isLonger(value, most)) expect(JSON.stringify(value).length).toBeGreaterThan(most);
      }),
    );
    expect(isLonger({ a: ['x'.repeat(10)] }, 100)).toBe(false);
    expect(isLonger({ a: ['x'.repeat(100)] }, 100)).toBe(true);
    expect(isLonger({ ['x'.repeat(100)]: 1 }, 100)).toBe(true);
    expect(
      isLonger(
        Array.from({ length: 101 }, () => 1),
        100,
      ),
    ).toBe(true);
  });
});
