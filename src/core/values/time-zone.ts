import { readFileSync } from 'node:fs';

/** The IANA database as the package `moment-timezone` publishes it. Nothing else of the package is used. */
interface ZoneDatabase {
  readonly version: string;
  /** `name|abbreviations|offsets|indices|untils`, numbers to the base 60. */
  readonly zones: readonly string[];
  /** `name|other name`. */
  readonly links: readonly string[];
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX';
const MINUTE = 60_000;

const DATABASE = JSON.parse(
  readFileSync(require.resolve('moment-timezone/data/packed/latest.json'), 'utf8'),
) as ZoneDatabase;
/** Maps names in lower case to the text of the zone. */
const TEXTS = textsByName(DATABASE);
/** Zones that were parsed, by name in lower case. */
const ZONES = new Map<string, TimeZone>();

/** The version of the IANA database that the release ships, for example `2026f`. */
export const ZONES_VERSION = DATABASE.version;

/** A period in which a zone has one offset. */
interface Period {
  /** Milliseconds of UTC; the end is excluded. */
  readonly start: number;
  readonly end: number;
  /** Milliseconds by which the local time is ahead of UTC. */
  readonly offset: number;
}

/** The local time of a zone. It keeps its last period and reading, as many policies ask for the same time. */
class TimeZone {
  private period: Period;
  private reading = { at: '', day: 0, minute: 0 };

  /** @param periods in their order, without gaps, at least one. */
  constructor(readonly periods: readonly [Period, ...Period[]]) {
    [this.period] = periods;
  }

  /** The local day, counted from 1 January 1970, and the minute of the day. */
  timeAt(at: string): { readonly day: number; readonly minute: number } {
    if (this.reading.at === at) return this.reading;
    const time = Date.parse(at);
    const minutes = Math.floor((time + this.offsetAt(time)) / MINUTE);
    const day = Math.floor(minutes / 1440);
    this.reading = { at, day, minute: minutes - day * 1440 };
    return this.reading;
  }

  /** Milliseconds by which the local time is ahead of UTC. @param time milliseconds of UTC. */
  offsetAt(time: number): number {
    if (time < this.period.start || time >= this.period.end) this.period = this.periodAt(time);
    return this.period.offset;
  }

  /**
   * The first instant whose local time is a given one or later, in milliseconds of UTC.
   * @param local milliseconds from 1 January 1970 of the zone's clock.
   */
  firstInstantAt(local: number): number {
    const { start, offset } = this.periods.find((period) => period.end + period.offset > local) ?? this.period;
    return Math.max(start, local - offset);
  }

  private periodAt(time: number): Period {
    return this.periods.find(({ end }) => time < end) ?? this.periods[0];
  }
}

/** The day of the week, 0 for Sunday. @param day counted from 1 January 1970, which was a Thursday. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** The names of all zones, in lower case. */
export function zoneNames(): Iterable<string> {
  return TEXTS.keys();
}

/** A zone by its name in any case; null if the database has none. An offset such as `+02:00` is no name. */
export function findTimeZone(name: string): TimeZone | null {
  const key = name.toLowerCase();
  const cachedZone = ZONES.get(key);
  if (cachedZone !== undefined) return cachedZone;
  const text = TEXTS.get(key);
  if (text === undefined) return null;
  const zone = new TimeZone(periodsIn(text));
  ZONES.set(key, zone);
  return zone;
}

function textsByName({ zones, links }: ZoneDatabase): ReadonlyMap<string, string> {
  const texts = new Map(zones.map((text) => [text.slice(0, text.indexOf('|')).toLowerCase(), text]));
  for (const link of links) {
    const [name = '', other = ''] = link.toLowerCase().split('|');
    const text = texts.get(name);
    if (text !== undefined) texts.set(other, text);
  }
  return texts;
}

function periodsIn(text: string): [Period, ...Period[]] {
  const [, , offsetList = '', indices = '', untilList = ''] = text.split('|');
  // The database counts minutes to the west.
  const offsets = offsetList.split(' ').map((offset) => 0 - Math.round(numberIn(offset) * MINUTE));
  const lengths = untilList === '' ? [] : untilList.split(' ').map((minutes) => numberIn(minutes) * MINUTE);
  let [start, end] = [-Infinity, 0];
  const periods = Array.from(indices, (index, place): Period => {
    const length = place === indices.length - 1 ? Infinity : (lengths[place] ?? Infinity);
    end = Math.round(end + length);
    const period = { start, end, offset: offsets[DIGITS.indexOf(index)] ?? 0 };
    start = end;
    return period;
  });
  const [first = { start, end: Infinity, offset: 0 }, ...others] = periods;
  return [first, ...others];
}

/** A number to the base 60, such as `-2m.s`. */
function numberIn(text: string): number {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const digits = Array.from(whole + fraction, (digit) => DIGITS.indexOf(digit));
  const size = digits.reduce((sum, digit) => sum * 60 + digit, 0) / 60 ** fraction.length;
  return text.startsWith('-') ? -size : size;
}
