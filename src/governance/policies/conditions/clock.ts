import { findTimeZone, weekdayOf } from '../../../core/values/time-zone';

export type Day = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';
export const DAYS: readonly Day[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** What a policy requires of the time of a request. A span over midnight belongs to the day on which it begins. */
export interface ClockCondition {
  /** The name of an IANA time zone. */
  readonly clock: string;
  /** Left out: every day. */
  readonly days?: readonly Day[] | null;
  /** Dates of the zone, `YYYY-MM-DD`, on which no span begins. */
  readonly except?: readonly string[] | null;
  readonly op: 'between';
  /** `HH:MM`; the second one is not included. */
  readonly value: readonly [string, string];
}

const DAY_MS = 86_400_000;

/** Minutes from midnight. */
function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/**
 * Whether the condition holds at a time; unknown if the database has no such zone. Only the local time counts: both passes
 * of an hour when clocks go back; from the jump on if the span begins in the hour that is missing.
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
