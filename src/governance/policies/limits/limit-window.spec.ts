import * as fc from 'fast-check';
import { findTimeZone, zoneNames } from '../../../core/values/time-zone';
import { type LimitPeriod, windowAt, windowsAt } from './limit-window';

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

const ZONED: readonly (readonly [LimitPeriod, zone: string, start: string, end: string])[] = [
  ['day', 'Europe/Berlin', '2026-11-26T23:00', '2026-11-27T23:00'],
  ['day', 'Europe/Berlin', '2026-03-28T23:00', '2026-03-29T22:00'],
  ['day', 'Europe/Berlin', '2026-10-24T22:00', '2026-10-25T23:00'],
  ['week', 'Europe/Berlin', '2026-03-22T23:00', '2026-03-29T22:00'],
  ['month', 'Europe/Berlin', '2026-02-28T23:00', '2026-03-31T22:00'],
  ['month', 'america/vancouver', '2026-12-01T07:00', '2027-01-01T07:00'],
  ['day', 'Asia/Kathmandu', '2026-11-26T18:15', '2026-11-27T18:15'],
  // Midnight is missing: the day begins at the jump.
  ['day', 'America/Sao_Paulo', '2018-11-04T03:00', '2018-11-05T02:00'],
  // Midnight comes twice: the day begins with the first.
  ['day', 'America/Havana', '2024-11-03T04:00', '2024-11-04T05:00'],
  // Clocks go back over midnight: what is shown of the day before belongs to the new day.
  ['day', 'America/St_Johns', '2010-11-06T02:30', '2010-11-07T02:30'],
  ['day', 'America/St_Johns', '2010-11-07T02:30', '2010-11-08T03:30'],
  // The thirtieth of December 2011 does not exist.
  ['day', 'Pacific/Apia', '2011-12-29T10:00', '2011-12-30T10:00'],
  ['day', 'Pacific/Apia', '2011-12-30T10:00', '2011-12-31T10:00'],
  ['month', 'Pacific/Apia', '2011-12-01T10:00', '2011-12-31T10:00'],
];

describe('the window of a limit in a zone', () => {
  const windowIn = (per: LimitPeriod, zone: string, time: number): unknown =>
    windowsAt(new Date(time).toISOString())({ per, zone });

  it.each(ZONED)('of a %s in %s from %s to %s has its first and its last millisecond', (per, zone, start, end) => {
    const window = { start: `${start}:00.000Z`, end: `${end}:00.000Z` };
    const [first, next] = [Date.parse(window.start), Date.parse(window.end)];
    expect(windowIn(per, zone, first)).toEqual(window);
    expect(windowIn(per, zone, next - 1)).toEqual(window);
    expect(windowIn(per, zone, first - 1)).toMatchObject({ end: window.start });
    expect(windowIn(per, zone, next)).toMatchObject({ start: window.end });
  });

  it('begins at the first minute that shows midnight of its first day, or a later time', () => {
    const minute = 60_000;
    const day = 1440 * minute;
    const names = [...zoneNames()];
    const request = fc.record({
      name: fc.constantFrom(...names),
      place: fc.nat(),
      distance: fc.integer({ min: -1_500, max: 1_500 }),
    });
    fc.assert(
      fc.property(request, ({ name, place, distance }) => {
        const zone = findTimeZone(name);
        const changes = zone?.periods.filter(({ start }) => start > 0) ?? [];
        const time = (changes[place % Math.max(1, changes.length)]?.start ?? 0) + distance * minute;
        const localTime = (at: number): number => at + (zone?.offsetAt(at) ?? 0);
        // Finds the latest date that has begun, and its beginning, by checking every minute of three days.
        const from = time - 2 * day;
        let [begun, start] = [Math.floor(localTime(from) / day), from];
        for (let at = from; at <= time; at += minute)
          if (Math.floor(localTime(at) / day) > begun) [begun, start] = [Math.floor(localTime(at) / day), at];
        // A change can take place within a minute.
        expect(Math.abs(Date.parse(String(Object(windowIn('day', name, time)).start)) - start)).toBeLessThan(minute);
      }),
      { numRuns: 300 },
    );
  });

  it('is none if the database has no such zone', () => {
    expect(windowIn('day', 'Europe/Atlantis', 0)).toBeNull();
    expect(windowIn('hour', 'Europe/Berlin', 0)).toEqual(windowAt('hour', '1970-01-01T00:00:00.000Z'));
  });
});
