import { ZONES } from './zone-data.mjs';

/**
 * The clock of a time zone, by the IANA database that the verifier ships.
 *
 * @typedef {{ until: number, seconds: number }} Period milliseconds of its end, and seconds ahead of UTC
 * @typedef {{ zone: string, days?: readonly string[] | undefined, except?: readonly string[] | undefined, from: string, to: string }} Span
 */

const DAY = 24 * 60;
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';

/** Maps names of zones, in lower case, to their periods once these were read. @type {Map<string, Period[]>} */
const zones = new Map();

/**
 * True if a time lies in a span of the day, its end excluded. A span over midnight belongs to the day on which it
 * begins.
 * @param {Date} time
 * @param {Span} span
 * @returns {boolean | undefined} undefined if the database has no such zone
 */
export function isBetween(time, { zone, days, except = [], from, to }) {
  const reading = readingIn(zone, time);
  if (reading === undefined) return undefined;
  const { day, minute, date } = reading;
  const [begin, end] = [minuteOf(from), minuteOf(to)];
  const isOn = (/** @type {number} */ weekday, /** @type {string} */ on) =>
    !except.includes(on) && (days === undefined || days.includes(String(DAYS[weekday])));
  if (begin < end) return minute >= begin && minute < end && isOn(day, date);
  return (minute >= begin && isOn(day, date)) || (minute < end && isOn((day + 6) % 7, dayBefore(date)));
}

/** @param {string} date */
function dayBefore(date) {
  return dateOf(new Date(Date.parse(date) - DAY * 60_000));
}

/** @param {Date} time */
function dateOf(time) {
  return time.toISOString().slice(0, 10);
}

/** @param {string} text `HH:MM`, also `24:00` */
function minuteOf(text) {
  const [hours, minutes] = text.split(':').map(Number);
  return Math.min(DAY, Number(hours) * 60 + Number(minutes));
}

/**
 * @param {string} zone
 * @param {Date} time
 * @returns {{ day: number, minute: number, date: string } | undefined} the day of the week, 0 for Sunday, the minute of
 *   the day, and the date; undefined if the database has no such zone
 */
export function readingIn(zone, time) {
  const periods = periodsOf(zone);
  if (periods === undefined) return undefined;
  const { seconds } = periods.find(({ until }) => time.getTime() < until) ?? { seconds: 0 };
  const local = new Date(time.getTime() + seconds * 1000);
  const minute = local.getUTCHours() * 60 + local.getUTCMinutes();
  return { day: local.getUTCDay(), minute, date: dateOf(local) };
}

/**
 * The first instant at which the clock of a zone shows a midnight, or a later time.
 * @param {string} zone
 * @param {Date} midnight as if it were in UTC
 * @returns {Date | undefined} undefined if the database has no such zone
 */
export function beginningOf(zone, midnight) {
  let start = -Infinity;
  for (const { until, seconds } of periodsOf(zone) ?? []) {
    const ahead = seconds * 1000;
    if (until + ahead > midnight.getTime()) return new Date(Math.max(start, midnight.getTime() - ahead));
    start = until;
  }
  return undefined;
}

/**
 * @param {string} zone
 * @returns {Period[] | undefined} undefined if the database has no such zone
 */
function periodsOf(zone) {
  const name = zone.toLowerCase();
  const cachedZone = zones.get(name);
  if (cachedZone !== undefined) return cachedZone;
  const namesIn = (/** @type {string} */ text) => text.toLowerCase().split('|');
  const [main = name] = ZONES.links.map(namesIn).find(([, alias]) => alias === name) ?? [];
  const text = ZONES.zones.find((zone) => namesIn(zone)[0] === main);
  if (text === undefined) return undefined;
  const [, , offsets = '', order = '', untils = ''] = text.split('|');
  const seconds = offsets.split(' ').map((offset) => -Math.round(sexagesimal(offset) * 60));
  const lengths = untils.split(' ').map(sexagesimal);
  let minutes = 0;
  const periods = [...order].map((digit, index) => {
    minutes += lengths[index] ?? 0;
    const until = index === order.length - 1 ? Infinity : Math.round(minutes * 60) * 1000;
    return { until, seconds: seconds[sexagesimal(digit)] ?? 0 };
  });
  zones.set(name, periods);
  return periods;
}

/**
 * Reads a number such as `-2m.s`: minutes to the base 60, with digits from 0 to X.
 * @param {string} text
 */
function sexagesimal(text) {
  const point = text.includes('.') ? text.indexOf('.') : text.length;
  let sum = 0;
  for (const [index, digit] of [...text].entries()) {
    if (digit === '-' || digit === '.') continue;
    sum += DIGITS.indexOf(digit) * 60 ** (index < point ? point - index - 1 : point - index);
  }
  return text.startsWith('-') ? -sum : sum;
}
