import { FIRST_ULID, UlidSequence } from './ulid-sequence';

const NOW = Date.UTC(2026, 10, 20);

describe('UlidSequence', () => {
  it('makes ULIDs of 26 characters of Crockford base 32, the time in front', () => {
    // The time and its text are those of the specification's own example.
    const ulid = new UlidSequence(FIRST_ULID).next(1469918176385);
    expect(ulid).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(ulid.slice(0, 10)).toBe('01ARYZ6S41');
  });

  it('sorts them in the order they were made, within a millisecond and when the clock goes back', () => {
    const ulids = new UlidSequence(FIRST_ULID);
    const made = [NOW, NOW, NOW + 1, NOW, NOW - 5000, NOW + 2].map((time) => ulids.next(time));
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  it('goes on after the last one of another sequence', () => {
    const last = new UlidSequence(FIRST_ULID).next(NOW);
    expect(new UlidSequence(last).next(NOW) > last).toBe(true);
  });

  it('uses all characters in the random part', () => {
    const parts = Array.from({ length: 500 }, () => new UlidSequence(FIRST_ULID).next(NOW).slice(10));
    expect(new Set(parts.join('')).size).toBe(32);
    expect(new Set(parts).size).toBe(500);
  });
});
