const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const MILLISECONDS_PER_MINUTE = 60_000;

/**
 * An RFC 3339 time with a zone as ISO 8601 in UTC with milliseconds, further digits truncated; undefined if it is not
 * one.
 */
export function parseTimestamp(text: string): string | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second, fraction = '', sign, zoneHour, zoneMinute] = match;
  const clock = { hour: Number(hour), minute: Number(minute), second: Number(second) };
  const zone = { hour: Number(zoneHour ?? 0), minute: Number(zoneMinute ?? 0) };
  const isRead = clock.hour < 24 && clock.minute < 60 && clock.second < 60 && zone.hour < 24 && zone.minute < 60;
  const midnight = dayStart(Number(year), Number(month), Number(day));
  if (!isRead || midnight === undefined) {
    return undefined;
  }
  const sinceMidnight = ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1000;
  const offset = (zone.hour * 60 + zone.minute) * MILLISECONDS_PER_MINUTE * (sign === '-' ? -1 : 1);
  return isoText(midnight + sinceMidnight + Number(fraction.slice(0, 3).padEnd(3, '0')) - offset);
}

/** The same for a date alone, which means midnight UTC. */
export function parseTimestampOrDate(text: string): string | undefined {
  const match = DATE.exec(text);
  if (match === null) {
    return parseTimestamp(text);
  }
  const midnight = dayStart(Number(match[1]), Number(match[2]), Number(match[3]));
  return midnight === undefined ? undefined : isoText(midnight);
}

/** The start of a day in milliseconds since 1970; undefined if the calendar has no such day. */
function dayStart(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? date.getTime() : undefined;
}

/** Years with more than four digits do not compare as text. */
function isoText(time: number): string | undefined {
  const text = new Date(time).toISOString();
  return text.length === '2026-01-01T00:00:00.000Z'.length ? text : undefined;
}
