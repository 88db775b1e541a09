import { hostIn, hostNameFault } from '../service-rules/host-names.js';
import type { Policy } from './policy-files.js';

export type Condition = NonNullable<Policy['conditions']>[number];
type Scalar = string | number | boolean | null;
type Parameters = Readonly<Record<string, unknown>>;

/** Conditions that a policy may have, except one on its principal; a bound of numbers takes two. */
const MAX_CONDITIONS = 19;
const MAX_TEXTS = 5;
const MAX_POINTER_LENGTH = 500;
/** Maximum length of a text that a condition names. */
const MAX_TEXT_LENGTH = 500;

/** A text that names its host together with something else: a name alone could be anything. */
const ADDRESS = /@|:\/\//;

/** Returns the shape of some parameters: pointers to their scalars, with the types of these. */
export function shapeOf(parameters: Parameters): string {
  return JSON.stringify([...scalarsOf(parameters)].map(([pointer, value]) => [pointer, typeOf(value)]));
}

/**
 * Returns conditions that all of these parameters meet: an upper bound for numbers, rounded up to two significant
 * digits, and a list where there are few texts.
 * @returns `open`: pointers to what is left open, each with the reason.
 */
export function draftedConditions(all: readonly Parameters[]): {
  readonly conditions: Condition[];
  readonly open: string[];
} {
  const scalarMaps = all.map((parameters) => scalarsOf(parameters));
  const conditions: Condition[] = [];
  const open = new Set(all.flatMap((parameters) => openOf(parameters)));
  for (const pointer of new Set(scalarMaps.flatMap((scalars) => [...scalars.keys()]))) {
    const values = scalarMaps.flatMap((scalars) => (scalars.has(pointer) ? [scalars.get(pointer) as Scalar] : []));
    const draft = values.length < all.length ? 'is not always given' : conditionsOn(pointer, values);
    if (typeof draft === 'string') open.add(`${pointer} ${draft}`);
    else if (conditions.length + draft.length > MAX_CONDITIONS) open.add(`${pointer} would be one condition too many`);
    else conditions.push(...draft);
  }
  return { conditions, open: [...open] };
}

function conditionsOn(parameter: string, values: readonly Scalar[]): Condition[] | string {
  if (parameter.length > MAX_POINTER_LENGTH) return 'has too long a name';
  if (values.every((value) => typeof value === 'number')) return boundsOf(parameter, values);
  const distinct = [...new Set(values)];
  if (distinct.length > MAX_TEXTS) {
    const hosts = hostsOf(distinct);
    return hosts === null ? `has ${distinct.length} different values` : [{ parameter, op: 'domain', value: hosts }];
  }
  if (distinct.some((value) => typeof value === 'string' && value.length > MAX_TEXT_LENGTH)) return 'has long texts';
  return [{ parameter, op: 'in', value: distinct }];
}

/** Returns the hosts of addresses and URLs, in order; null if a value has none, or if there are too many hosts. */
function hostsOf(values: readonly Scalar[]): string[] | null {
  const hosts = new Set<string>();
  for (const value of values) {
    const host = typeof value === 'string' && ADDRESS.test(value) ? hostIn(value) : null;
    if (host === null || hostNameFault(host) !== undefined) return null;
    hosts.add(host);
  }
  return hosts.size > MAX_TEXTS ? null : [...hosts].sort();
}

function boundsOf(parameter: string, numbers: readonly number[]): Condition[] {
  const upper: Condition = { parameter, op: 'lte', value: roundedUp(Math.max(...numbers)) };
  return numbers.every((number) => number >= 0) ? [{ parameter, op: 'gte', value: 0 }, upper] : [upper];
}

/** Rounds a number up to two significant digits, but not beyond the largest number. */
export function roundedUp(number: number): number {
  const roundedNumber = Number(number.toPrecision(2));
  if (roundedNumber >= number) return Math.min(roundedNumber, Number.MAX_VALUE);
  const [digits = '', exponent = ''] = number.toExponential(1).split('e');
  return Number(`${(Number(digits) + 0.1).toFixed(1)}e${exponent}`);
}

/** Maps JSON Pointers to scalars, also inside objects, but not inside lists. */
function scalarsOf(value: Parameters, prefix = ''): Map<string, Scalar> {
  const scalars = new Map<string, Scalar>();
  for (const [name, member] of Object.entries(value)) {
    const pointer = `${prefix}/${escapeToken(name)}`;
    // A `*` alone would mean each item of a list.
    if (name === '*' || Array.isArray(member) || isSecret(member)) continue;
    // An HMAC says nothing.
    if (name === '$hmac' && 'bytes' in value) continue;
    if (typeof member === 'object' && member !== null)
      for (const [inner, scalar] of scalarsOf(member as Parameters, pointer)) scalars.set(inner, scalar);
    else scalars.set(pointer, member as Scalar);
  }
  return new Map([...scalars].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function openOf(value: Parameters, prefix = ''): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${prefix}/${escapeToken(name)}`;
    if (Array.isArray(member)) return [`${pointer} is a list`];
    if (isSecret(member)) return [`${pointer} is a secret`];
    if (name === '$hmac' && 'bytes' in value) return [`${prefix} is known by its hash`];
    if (name === '*') return [`${pointer} cannot be named`];
    return typeof member === 'object' && member !== null ? openOf(member as Parameters, pointer) : [];
  });
}

/** True for what stands for a secret, `{ $secret }`: conditions see nothing of it. */
function isSecret(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === '$secret';
}

function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function typeOf(value: Scalar): string {
  return value === null ? 'null' : typeof value;
}
