import type { Policy } from './policy-files.js';

export type Condition = NonNullable<Policy['conditions']>[number];
type Scalar = string | number | boolean | null;
type Parameters = Readonly<Record<string, unknown>>;

/** Conditions that a policy may have; a bound of numbers takes two. */
const MOST_CONDITIONS = 20;
const MOST_TEXTS = 5;
const LONGEST_POINTER = 500;
/** Of a text that a condition names. */
const LONGEST_TEXT = 500;

/** What the scalars among some parameters have in common: pointers with the types of their values. */
export function shapeOf(parameters: Parameters): string {
  return JSON.stringify([...scalarsOf(parameters)].map(([pointer, value]) => [pointer, typeOf(value)]));
}

/**
 * Conditions that all of these parameters meet: an upper bound for numbers, rounded up to two significant digits, and a list
 * where there are few texts.
 * @returns `open`: pointers to what is left open, each with the reason.
 */
export function draftedConditions(all: readonly Parameters[]): {
  readonly conditions: Condition[];
  readonly open: string[];
} {
  const given = all.map((parameters) => scalarsOf(parameters));
  const conditions: Condition[] = [];
  const open = new Set(all.flatMap((parameters) => openOf(parameters)));
  for (const pointer of new Set(given.flatMap((scalars) => [...scalars.keys()]))) {
    const values = given.flatMap((scalars) => (scalars.has(pointer) ? [scalars.get(pointer) as Scalar] : []));
    const drafted = values.length < all.length ? 'is not always given' : conditionsOn(pointer, values);
    if (typeof drafted === 'string') open.add(`${pointer} ${drafted}`);
    else if (conditions.length + drafted.length > MOST_CONDITIONS)
      open.add(`${pointer} would be one condition too many`);
    else conditions.push(...drafted);
  }
  return { conditions, open: [...open] };
}

function conditionsOn(parameter: string, values: readonly Scalar[]): Condition[] | string {
  if (parameter.length > LONGEST_POINTER) return 'has too long a name';
  if (values.every((value) => typeof value === 'number')) return boundsOf(parameter, values);
  const distinct = [...new Set(values)];
  if (distinct.length > MOST_TEXTS) return `has ${distinct.length} different values`;
  if (distinct.some((value) => typeof value === 'string' && value.length > LONGEST_TEXT)) return 'has long texts';
  return [{ parameter, op: 'in', value: distinct }];
}

function boundsOf(parameter: string, numbers: readonly number[]): Condition[] {
  const upper: Condition = { parameter, op: 'lte', value: roundedUp(Math.max(...numbers)) };
  return numbers.every((number) => number >= 0) ? [{ parameter, op: 'gte', value: 0 }, upper] : [upper];
}

/** To two significant digits, away from what is smaller; nothing is larger than the largest number. */
export function roundedUp(number: number): number {
  const rounded = Number(number.toPrecision(2));
  if (rounded >= number) return Math.min(rounded, Number.MAX_VALUE);
  const [digits = '', exponent = ''] = number.toExponential(1).split('e');
  return Number(`${(Number(digits) + 0.1).toFixed(1)}e${exponent}`);
}

/** By JSON Pointer, also inside objects; of lists nothing. */
function scalarsOf(value: Parameters, beginning = ''): Map<string, Scalar> {
  const found = new Map<string, Scalar>();
  for (const [name, member] of Object.entries(value)) {
    const pointer = `${beginning}/${escaped(name)}`;
    // A `*` alone would mean each item of a list.
    if (name === '*' || Array.isArray(member)) continue;
    if (typeof member === 'object' && member !== null)
      for (const [inner, scalar] of scalarsOf(member as Parameters, pointer)) found.set(inner, scalar);
    else found.set(pointer, member as Scalar);
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function openOf(value: Parameters, beginning = ''): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const pointer = `${beginning}/${escaped(name)}`;
    if (Array.isArray(member)) return [`${pointer} is a list`];
    if (name === '*') return [`${pointer} cannot be named`];
    return typeof member === 'object' && member !== null ? openOf(member as Parameters, pointer) : [];
  });
}

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function typeOf(value: Scalar): string {
  return value === null ? 'null' : typeof value;
}
