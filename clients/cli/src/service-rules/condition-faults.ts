import { parseDuration } from './duration.js';
import { hostNameFault } from './host-names.js';
import { withinFault } from './resources.js';
import { marksFault, normalFormC } from './normal-form.js';

type Scalar = string | number | boolean | null;

const MAX_VALUES = 100;
const MAX_DOMAINS = 50;
const MAX_WITHIN_MS = 7 * 24 * 3_600_000;
const ESCAPE = /~(?![01])/;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/;

/** As a token of a pointer: each item of a list. */
export const EACH = '*';

/** The tokens of a JSON Pointer (RFC 6901). */
export function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export function hasEach(pointer: unknown): boolean {
  return typeof pointer === 'string' && pathOf(pointer).includes(EACH);
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** A time from `00:00` to `24:00`. */
export function isTimeOfDay(text: unknown): text is string {
  return typeof text === 'string' && TIME.test(text);
}

/** What a date of the calendar has to be. */
export function dateFault(text: unknown): string | undefined {
  const time = typeof text === 'string' && DATE.test(text) ? Date.parse(text) : NaN;
  const isDate = !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text;
  return isDate ? undefined : 'must be a date of the calendar, such as "2026-12-25"';
}

/** What the value of `domain` has to be, as a whole or at one of its items. */
export function domainFaults(value: unknown): { readonly at: string; readonly message: string }[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_DOMAINS)
    return [{ at: '', message: `must be an array of 1 to ${MAX_DOMAINS} host names` }];
  return value.flatMap((name: unknown, index) => {
    const message = typeof name === 'string' ? hostNameFault(name) : 'must be a string';
    return message === undefined ? [] : { at: `[${index}]`, message };
  });
}

/** What texts have to be that the principal or the resource is compared with: both are in normal form C. */
export function composedFault(value: unknown): string | undefined {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const strings = texts.filter((text) => typeof text === 'string');
  const isComposed = strings.every((text) => text === normalFormC(text));
  if (!isComposed) return 'must be in Unicode normal form C, as the principal and the resource are';
  return strings.map(marksFault).find((fault) => fault !== undefined);
}

/** What a pointer to a parameter has to be; undefined, as below, if nothing is wrong with it. */
export function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (pathOf(pointer).filter((token) => token === EACH).length > 1) return 'must have at most one "*"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

/** What a pointer to a single amount has to be. */
export function amountPointerFault(pointer: string): string | undefined {
  return pointerFault(pointer) ?? (hasEach(pointer) ? 'must not have a "*"' : undefined);
}

/** The `within` of a condition on earlier executions. */
export function lookBackFault(text: string): string | undefined {
  return parseDuration(text, MAX_WITHIN_MS) === undefined
    ? 'must be an ISO 8601 duration between one second and 7 days, such as "PT4H" or "P7D"'
    : undefined;
}

/** The value of `between`. */
export function spanFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const [start, end, more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (!isTimeOfDay(start) || !isTimeOfDay(end) || more !== undefined)
    return 'must be two times from "00:00" to "24:00", as ["08:00", "17:30"]';
  // 24:00 is 00:00 of the next day.
  const isEmpty = start === end || (start === '24:00' && end === '00:00');
  return isEmpty ? 'must be two different times' : undefined;
}

/** The value of `supports`. */
export function confidenceFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  return typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'must be a number from 0 to 1';
}

/** The value of any other operator, except for a comparison with another parameter. */
export function operandFault(op: string, value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  if (op === 'exists') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'must be a string';
  if (op === 'within') return typeof value === 'string' ? withinFault(value) : 'must be a string';
  if (op === 'in' || op === 'not_in')
    return Array.isArray(value) && value.length >= 1 && value.length <= MAX_VALUES && value.every(isScalar)
      ? undefined
      : `must be an array of 1 to ${MAX_VALUES} strings, numbers, booleans or nulls`;
  if (op !== 'eq' && op !== 'ne') return typeof value === 'number' ? undefined : 'must be a number, or {parameter}';
  return isScalar(value)
    ? undefined
    : 'must be a string, a number, a boolean or null, or {parameter}, {principal} or {resource}';
}
