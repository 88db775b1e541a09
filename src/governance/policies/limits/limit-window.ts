/** How long what was used counts against a limit. */
export type LimitPeriod = 'hour' | 'day' | 'week' | 'month';
export const LIMIT_PERIODS: readonly LimitPeriod[] = ['hour', 'day', 'week', 'month'];

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** The first Monday after the epoch, which was a Thursday. */
const FIRST_MONDAY = 4 * DAY;

/** A window of a limit, from its start up to, but not including, its end: ISO 8601 in UTC with milliseconds. */
export interface LimitWindow {
  readonly start: string;
  readonly end: string;
}

/** The window in which a time lies; weeks begin on Monday. @param at ISO 8601 in UTC. */
export function windowAt(per: LimitPeriod, at: string): LimitWindow {
  const time = Date.parse(at);
  if (per === 'month') {
    const date = new Date(time);
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    return { start: isoOf(Date.UTC(year, month)), end: isoOf(Date.UTC(year, month + 1)) };
  }
  const [length, first] = per === 'week' ? [WEEK, FIRST_MONDAY] : [per === 'day' ? DAY : HOUR, 0];
  const start = first + Math.floor((time - first) / length) * length;
  return { start: isoOf(start), end: isoOf(start + length) };
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}
