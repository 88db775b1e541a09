const DATE = /^\d{4}-\d\d-\d\d$/;
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const DATE_TIME = new RegExp(`^(\\d{4}-\\d\\d-\\d\\d)T(${CLOCK}:[0-5]\\d)(?:(\\.\\d{1,3})\\d*)?(Z|[+-]${CLOCK})$`, 'i');

/**
 * Returns an RFC 3339 time with a zone as ISO 8601 in UTC with milliseconds, further digits truncated; undefined if the
 * text is not such a time.
 */
export function parseTimestamp(text: string): string | undefined {
  const [, date = '', clock = '', fraction = '', zone = ''] = DATE_TIME.exec(text) ?? [];
  if (!isDay(date)) return undefined;
  const time = new Date(`${date}T${clock}${fraction}${zone.toUpperCase()}`).toISOString();
  // Years with more than four digits do not compare as text.
  return time.length === '2026-01-01T00:00:00.000Z'.length ? time : undefined;
}

/** Reads a timestamp, or a date alone, which means midnight UTC. */
export function parseTimestampOrDate(text: string): string | undefined {
  return parseTimestamp(DATE.test(text) ? `${text}T00:00:00Z` : text);
}

/** True if the calendar has the day. `Date` replaces a missing day of a month by one of the next month. */
function isDay(date: string): boolean {
  const time = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
}
