import { type LimitPeriod, windowAt } from './limit';

const WINDOWS: readonly (readonly [LimitPeriod, start: string, end: string])[] = [
  ['hour', '2026-11-23T09:00', '2026-11-23T10:00'],
  ['hour', '2026-12-31T23:00', '2027-01-01T00:00'],
  ['day', '2026-11-23T00:00', '2026-11-24T00:00'],
  ['day', '2028-02-29T00:00', '2028-03-01T00:00'],
  ['day', '2026-03-29T00:00', '2026-03-30T00:00'],
  ['week', '2026-11-23T00:00', '2026-11-30T00:00'],
  ['week', '2026-12-28T00:00', '2027-01-04T00:00'],
  ['week', '2028-02-28T00:00', '2028-03-06T00:00'],
  ['week', '1970-01-05T00:00', '1970-01-12T00:00'],
  ['month', '2028-02-01T00:00', '2028-03-01T00:00'],
  ['month', '2027-02-01T00:00', '2027-03-01T00:00'],
  ['month', '2026-12-01T00:00', '2027-01-01T00:00'],
];

describe('the window of a limit', () => {
  it.each(WINDOWS)('of a %s from %s to %s has its first and its last millisecond', (per, start, end) => {
    const window = { start: `${start}:00.000Z`, end: `${end}:00.000Z` };
    const last = new Date(Date.parse(window.end) - 1).toISOString();
    const before = new Date(Date.parse(window.start) - 1).toISOString();
    expect(windowAt(per, window.start)).toEqual(window);
    expect(windowAt(per, last)).toEqual(window);
    expect(windowAt(per, before).end).toBe(window.start);
    expect(windowAt(per, window.end).start).toBe(window.end);
  });
});
