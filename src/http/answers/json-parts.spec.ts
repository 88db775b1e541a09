import fc from 'fast-check';
import { StoredJson } from '../../json/stored-json';
import { Slices } from '../../shared/slices';
import { isDivisible, jsonParts } from './json-parts';

describe('jsonParts', () => {
  it('are together what JSON.stringify writes', async () => {
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
});
