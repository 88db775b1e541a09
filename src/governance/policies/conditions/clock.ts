import { findTimeZone, weekdayOf } from '../../../core/values/time-zone';

export type Day = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';
export const DAYS: readonly Day[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** A condition on the time of a request. A span over midnight belongs to the day on which it begins. */
export interface ClockCondition {
  /** The name of an IANA time zone. */
  readonly clock: string;
  /** Left out: every day. */
  readonly days?: readonly Day[] | null;
  /** Dates of the zone, `YYYY-MM-DD`, on which no span begins. */
  readonly except?: readonly string[] | null;
  readonly op: 'between';
  /** Beginning and end of the span as `HH:MM`; the end is excluded. */
  readonly value: readonly [string, string];
}

const DAY_MS = 86_400_000;

/** Returns the minutes from midnight. */
function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/**
 * Returns a test of a time; unknown if the database has no such zone. Only the local time counts: an hour that repeats
 * when clocks go back counts twice, and a span that begins in a skipped hour begins when clocks go forward.
 */
export function clockTest({
  clock,
  days,
  except,
  value,
}: ClockCondition): (request: { readonly at: string }) => boolean | 'unknown' {
  const [start, end] = [minutesOf(value[0]), minutesOf(value[1])];
  const exceptions = new Set(except?.map((date) => Date.parse(date) / DAY_MS));
  const isOn = (day: number): boolean =>
    !exceptions.has(day) && (days?.some((name) => name === DAYS[weekdayOf(day)]) ?? true);
  return ({ at }) => {
    const zone = findTimeZone(clock);
    if (zone === null) return 'unknown';
    const { day, minute } = zone.timeAt(at);
    if (start < end) return start <= minute && minute < end && isOn(day);
    return (start <= minute && isOn(day)) || (minute < end && isOn(day - 1));
  };
}
