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

/** The token of a pointer that stands for each item of a list. */
export const EACH = '*';

/** Returns the tokens of a JSON Pointer (RFC 6901). */
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

/** True for a time from `00:00` to `24:00`. */
export function isTimeOfDay(text: unknown): text is string {
  return typeof text === 'string' && TIME.test(text);
}

/** Returns the fault of a date of the calendar; undefined if it is valid. */
export function dateFault(text: unknown): string | undefined {
  const time = typeof text === 'string' && DATE.test(text) ? Date.parse(text) : NaN;
  const isDate = !Number.isNaN(time) && new Date(time).toISOString().slice(0, 10) === text;
  return isDate ? undefined : 'must be a date of the calendar, such as "2026-12-25"';
}

/** Returns the faults of the value of `domain`, of the whole value or of its items. */
export function domainFaults(value: unknown): { readonly at: string; readonly message: string }[] {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_DOMAINS)
    return [{ at: '', message: `must be an array of 1 to ${MAX_DOMAINS} host names` }];
  return value.flatMap((name: unknown, index) => {
    const message = typeof name === 'string' ? hostNameFault(name) : 'must be a string';
    return message === undefined ? [] : { at: `[${index}]`, message };
  });
}

/**
 * Returns the fault of texts that are compared with the principal or the resource, both of which are in normal form C;
 * undefined if there is none.
 */
export function composedFault(value: unknown): string | undefined {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const strings = texts.filter((text) => typeof text === 'string');
  const isComposed = strings.every((text) => text === normalFormC(text));
  if (!isComposed) return 'must be in Unicode normal form C, as the principal and the resource are';
  return strings.map(marksFault).find((fault) => fault !== undefined);
}

/** Returns the fault of a pointer to a parameter; undefined if it is valid. */
export function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  if (pathOf(pointer).filter((token) => token === EACH).length > 1) return 'must have at most one "*"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

/** Returns the fault of a pointer to a single amount; undefined if it is valid. */
export function amountPointerFault(pointer: string): string | undefined {
  return pointerFault(pointer) ?? (hasEach(pointer) ? 'must not have a "*"' : undefined);
}

/** Returns the fault of the `within` of a condition on earlier executions; undefined if it is valid. */
export function lookBackFault(text: string): string | undefined {
  return parseDuration(text, MAX_WITHIN_MS) === undefined
    ? 'must be an ISO 8601 duration between one second and 7 days, such as "PT4H" or "P7D"'
    : undefined;
}

/** Returns the fault of the value of `between`; undefined if it is valid. */
export function spanFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const [start, end, more] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (!isTimeOfDay(start) || !isTimeOfDay(end) || more !== undefined)
    return 'must be two times from "00:00" to "24:00", as ["08:00", "17:30"]';
  // 24:00 is 00:00 of the next day.
  const isEmpty = start === end || (start === '24:00' && end === '00:00');
  return isEmpty ? 'must be two different times' : undefined;
}

/** Returns the fault of the value of `supports`; undefined if it is valid. */
export function confidenceFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  return typeof value === 'number' && value >= 0 && value <= 1 ? undefined : 'must be a number from 0 to 1';
}

/**
 * Returns the fault of the value of any other operator; undefined if it is valid. A comparison with another parameter
 * has its own rule.
 */
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
