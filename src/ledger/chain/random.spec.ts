import * as fc from 'fast-check';
import { decodeTime } from 'ulid';
import { FIRST_ULID, UlidSequence } from './random';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

describe('ULIDs', () => {
  it('sort by creation however the clock runs', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 50 }), (times) => {
        const sequence = new UlidSequence(FIRST_ULID);
        const made = times.map((time) => sequence.next(time));
        expect([...made].sort()).toEqual(made);
        expect(new Set(made).size).toBe(made.length);
        for (const ulid of made) expect(ulid).toMatch(ULID);
      }),
    );
  });

  it('contain the time, unless an earlier one has a later time', () => {
    const sequence = new UlidSequence(FIRST_ULID);
    expect(decodeTime(sequence.next(1_763_600_000_000))).toBe(1_763_600_000_000);
    expect(decodeTime(sequence.next(1_763_600_000_001))).toBe(1_763_600_000_001);
    expect(decodeTime(sequence.next(5))).toBe(1_763_600_000_001);
  });

  it('continue where a previous sequence ended', () => {
    const previous = new UlidSequence(FIRST_ULID).next(1_763_600_000_000);
    expect(new UlidSequence(previous).next(1_763_600_000_000) > previous).toBe(true);
  });
});
