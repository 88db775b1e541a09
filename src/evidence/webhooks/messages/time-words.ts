import { findTimeZone } from '../../../core/values/time-zone';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const UTC_NAMES = /^(?:Etc\/)?(?:UTC|UCT|Universal|Zulu)$/i;

/**
 * Returns a time in a zone and in UTC, such as `Friday, 27 November 2026, 15:30 in Berlin (14:30 UTC)`. Seconds are cut
 * off, so a stated deadline is never later than the real one.
 * @param at ISO 8601
 */
export function timeInWords(at: string, zone: string): string {
  const utc = new Date(at);
  const offset = findTimeZone(zone)?.offsetAt(utc.getTime());
  if (offset === undefined || UTC_NAMES.test(zone)) return `${dayInWords(utc)}, ${timeOfDay(utc)} UTC`;
  const local = new Date(utc.getTime() + offset);
  const isSameDay = local.getUTCDate() === utc.getUTCDate();
  const inUtc = isSameDay ? timeOfDay(utc) : `${dayInWords(utc)}, ${timeOfDay(utc)}`;
  return `${dayInWords(local)}, ${timeOfDay(local)} in ${placeName(zone)} (${inUtc} UTC)`;
}

function dayInWords(time: Date): string {
  return `${DAYS[time.getUTCDay()]}, ${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]} ${time.getUTCFullYear()}`;
}

function timeOfDay(time: Date): string {
  return time.toISOString().slice(-13, -8);
}

/** Returns the city of a zone; its whole name if it has none, such as `CET`. */
function placeName(zone: string): string {
  const city = /^(?!Etc\/).*\/(.*)$/i.exec(zone)?.[1];
  return city?.replaceAll('_', ' ') ?? zone;
}
