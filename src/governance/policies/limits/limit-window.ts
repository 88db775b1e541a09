import { findTimeZone } from '../../../core/values/time-zone';

/** Period in which uses count against a limit. */
export type LimitPeriod = 'hour' | 'day' | 'week' | 'month';
export const LIMIT_PERIODS: readonly LimitPeriod[] = ['hour', 'day', 'week', 'month'];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Milliseconds of the periods of constant length. */
export const LENGTHS = { hour: HOUR, day: DAY, week: 7 * DAY } as const;
/** The first Monday after the epoch, which was a Thursday. */
const FIRST_MONDAY = 4 * DAY;

/**
 * Returns the beginning of the hour, day or week in UTC that contains a time; weeks begin on Monday. Both times are
 * milliseconds since 1970.
 */
export function periodStart(per: keyof typeof LENGTHS, time: number): number {
  const [length, first] = [LENGTHS[per], per === 'week' ? FIRST_MONDAY : 0];
  return first + Math.floor((time - first) / length) * length;
}

/** Returns the window in UTC that contains a time; weeks begin on Monday. @param at ISO 8601 */
export function windowAt(per: LimitPeriod, at: string): LimitWindow {
  const time = Date.parse(at);
  if (per === 'month') {
    const date = new Date(time);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { start: isoOf(Date.UTC(year, month)), end: isoOf(Date.UTC(year, month + 1)) };
  }
  const start = periodStart(per, time);
  return { start: isoOf(start), end: isoOf(start + LENGTHS[per]) };
}

/**
 * The window in which a limit counts: its start, and its end, which the window excludes. Both are in ISO 8601 in UTC
 * with milliseconds.
 */
type LimitWindow = Readonly<Record<'start' | 'end', string>>;

/** Returns the window of a limit for a certain time; null if the time zone database lacks the limit's zone. */
export type WindowOfLimit = (limit: { readonly per: LimitPeriod; readonly zone?: string }) => LimitWindow | null;

/** Stands for the window of a limit whose zone is unknown. Such a limit lets nothing through. */
export const NO_WINDOW: LimitWindow = { start: '1970-01-01T00:00:00.000Z', end: '9999-12-31T23:59:59.999Z' };

/**
 * Returns a function that returns the window of a limit at this time, and computes equal windows once.
 * @param at ISO 8601
 */
export function windowsAt(at: string): WindowOfLimit {
  const windows = new Map<string, LimitWindow | null>();
  return ({ per, zone }) => {
    const key = `${per} ${zone ?? ''}`;
    const cachedWindow = windows.get(key);
    if (cachedWindow !== undefined) return cachedWindow;
    const window = zone === undefined || per === 'hour' ? windowAt(per, at) : windowInZone(per, zone, at);
    windows.set(key, window);
    return window;
  };
}

/**
 * Returns the window in a zone; null if the time zone database lacks the zone. The window begins at the first instant
 * at which the zone's clock shows 00:00 of its first day, or later: a day whose midnight is missing begins at the jump,
 * and a day with two midnights at the first.
 */
function windowInZone(per: DatedPeriod, zoneName: string, at: string): LimitWindow | null {
  const zone = findTimeZone(zoneName);
  if (zone === null) return null;
  const time = Date.parse(at);
  const startAt = (day: number): number => zone.firstInstantAt(day * DAY);
  let first = firstDayOf(per, zone.timeAt(at).day);
  // Clocks that go back over midnight show the day before once more.
  for (let next = nextFirstDay(per, first); startAt(next) <= time; next = nextFirstDay(per, first)) first = next;
  return { start: isoOf(startAt(first)), end: isoOf(startAt(nextFirstDay(per, first))) };
}

type DatedPeriod = Exclude<LimitPeriod, 'hour'>;

/** Returns the first day of the period that contains a day. Days are counted from 1 January 1970. */
function firstDayOf(per: DatedPeriod, day: number): number {
  if (per === 'day') return day;
  if (per === 'week') return periodStart('week', day * DAY) / DAY;
  const date = new Date(day * DAY);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / DAY;
}

function nextFirstDay(per: DatedPeriod, first: number): number {
  if (per === 'day') return first + 1;
  if (per === 'week') return first + 7;
  const date = new Date(first * DAY);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / DAY;
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}
