/**
 * The clock of a time zone. An implementation of ECMAScript brings the rules of all zones with it.
 *
 * @typedef {{ zone: string, days?: readonly string[] | undefined, from: string, to: string }} Span
 */

const DAY = 24 * 60;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * Whether a time lies in a span of the day, its end excluded. A span over midnight belongs to the day it begins on.
 * @param {Date} time
 * @param {Span} span
 */
export function isBetween(time, { zone, days, from, to }) {
  const { day, minute } = readingIn(zone, time);
  const [begin, end] = [minuteOf(from), minuteOf(to)];
  const isOn = (/** @type {number} */ weekday) => days === undefined || days.includes(String(DAYS[weekday]));
  if (begin < end) return minute >= begin && minute < end && isOn(day);
  return (minute >= begin && isOn(day)) || (minute < end && isOn((day + 6) % 7));
}

/** @param {string} text `HH:MM`, also `24:00` */
function minuteOf(text) {
  const [hours, minutes] = text.split(':').map(Number);
  return Math.min(DAY, Number(hours) * 60 + Number(minutes));
}

/**
 * @param {string} zone
 * @param {Date} time
 * @returns {{ day: number, minute: number }} the day of the week, 0 for Sunday, and the minute of the day
 */
export function readingIn(zone, time) {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, value]));
  return {
    day: DAYS.indexOf(String(parts['weekday']).toLowerCase()),
    minute: Number(parts['hour']) * 60 + Number(parts['minute']),
  };
}
