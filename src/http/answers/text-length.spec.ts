import fc from 'fast-check';
import { isLonger } from './text-length';

describe('isLonger', () => {
  it('takes no value for longer than its JSON, and none for shorter than its texts', () => {
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
