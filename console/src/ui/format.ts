import { escapedText, UNSEEN } from '../../../src/core/values/printable-text.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const NUMBERS = new Intl.NumberFormat('en');
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 15 });
const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const MOMENT = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const;
const SHORT = new Intl.DateTimeFormat(undefined, MOMENT);
const WITH_YEAR = new Intl.DateTimeFormat(undefined, { ...MOMENT, year: 'numeric' });

export function numberText(value: number): string {
  return NUMBERS.format(value);
}

/** Returns a share as a percentage, not rounded: of two shares, people have to see which is the larger. */
export function percentText(share: number): string {
  return PERCENT.format(share);
}

/** `1 entry`, `2 entries`. */
export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${numberText(count)} ${count === 1 ? singular : plural}`;
}

/** A length of time in the two units that matter, such as `3 h 12 min`. */
export function durationText(milliseconds: number): string {
  const remaining = Math.max(0, milliseconds);
  if (remaining < MINUTE) return `${Math.floor(remaining / 1_000)} s`;
  if (remaining < HOUR) return `${Math.floor(remaining / MINUTE)} min`;
  if (remaining < DAY)
    return joinUnits(Math.floor(remaining / HOUR), 'h', Math.floor((remaining % HOUR) / MINUTE), 'min');
  return joinUnits(Math.floor(remaining / DAY), 'd', Math.floor((remaining % DAY) / HOUR), 'h');
}

function joinUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

const UNITS: readonly (readonly [string, string])[] = [
  ['week', 'W'],
  ['day', 'D'],
  ['hour', 'H'],
  ['minute', 'M'],
  ['second', 'S'],
];

/** An ISO 8601 duration such as `P1DT4H` in words. The service accepts neither years nor months. */
export function isoDurationText(duration: string): string {
  const parts = UNITS.flatMap(([unit, letter]) => {
    const count = new RegExp(`([\\d.]+)${letter}`).exec(duration)?.[1];
    return count === undefined ? [] : [countText(Number(count), unit)];
  });
  return parts.length === 0 ? duration : listText(parts, 'and');
}

/** Returns a time in the reader's time zone. */
export function localTime(iso: string): string {
  return LOCAL.format(new Date(iso));
}

/** Returns a time in the reader's time zone, with the year unless it is the current one. */
export function shortTime(iso: string): string {
  const date = new Date(iso);
  return (date.getFullYear() === new Date().getFullYear() ? SHORT : WITH_YEAR).format(date);
}

/** Returns a time in UTC, as in the ledger. */
export function utcTime(iso: string): string {
  return `${iso.replace('T', ' ').replace(/\.\d+Z$|Z$/, '')} UTC`;
}

export function agoText(iso: string, now: number): string {
  const elapsed = now - Date.parse(iso);
  return elapsed < 5_000 ? 'just now' : `${durationText(elapsed)} ago`;
}

/** `a`, `a or b`, `a, b or c`. */
export function listText(items: readonly string[], word: 'and' | 'or'): string {
  if (items.length <= 1) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1) ?? ''}`;
}

/** Characters that hide text or change the order in which it is read, except for line ends and tabs. */
const INVISIBLE = new RegExp(`(?![\\n\\t]|\\r\\n)(?:${UNSEEN.source})`, 'gu');
/** Spaces that nobody sees, or cannot count, and everything else that ends a line or leaves a gap. */
const UNSEEN_SPACE = /^ | $|(?<= ) |[\n\t\r]/g;
/** Backslashes that could be taken for the beginning of an escape. */
const BACKSLASHES = new RegExp(`\\\\+(?=u|${INVISIBLE.source}|${UNSEEN_SPACE.source})`, 'gu');

/** JSON with invisible characters escaped, which means the same. */
export function revealedJson(json: string): string {
  return json.replace(INVISIBLE, escapedText);
}

/** Text of several lines, with invisible characters written out. */
export function revealedProse(text: string): string {
  return revealedJson(text.replace(BACKSLASHES, '$&$&'));
}

/**
 * A name or an identifier with everything written out that cannot be seen, spaces at its ends included, so that people
 * approve exactly what they read: two that differ look different.
 */
export function showInvisible(text: string): string {
  return revealedProse(text).replace(UNSEEN_SPACE, escapedText);
}

/** The words of an identifier such as `pending_approval`. */
export function words(identifier: string): string {
  return identifier.replaceAll('_', ' ');
}
