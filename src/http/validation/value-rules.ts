import type { FieldFault } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';

/** A fault inside a member: `at` is the rest of its path, such as `[1]` or `.confidence`. */
export interface FaultInside {
  readonly at: string;
  readonly message: string;
}

/** What is wrong with a member's value: a message, faults located inside it, or nothing. */
export type MemberRule = (value: unknown) => string | readonly FaultInside[] | undefined;

/** What a rule finds wrong with the value of `field`. */
export function faultsBy(rule: MemberRule, field: string, value: unknown): FieldFault[] {
  const found = rule(value) ?? [];
  if (typeof found === 'string') return [{ field, message: found }];
  return found.map(({ at, message }) => ({ field: `${field}${at}`, message }));
}

export interface TextLimits {
  /** Code points at least; 1 by default, 0 when it may be blank. */
  readonly min?: number;
  /** Code points at most. */
  readonly max: number;
  /** White space alone is allowed. */
  readonly mayBeBlank?: boolean;
  /** What else is wrong with a text of valid length; undefined if nothing is. */
  readonly rule?: (text: string) => string | undefined;
}

/** What is wrong with a text; undefined when nothing is. */
export function textFault(value: unknown, limits: TextLimits): string | undefined {
  const { max, mayBeBlank = false, rule } = limits;
  const min = leastLength(limits);
  if (value === undefined) return 'is required';
  if (typeof value !== 'string') return 'must be a string';
  if (!mayBeBlank && value.trim() === '') return 'must not be blank';
  if (!hasLength(value, min, max)) {
    return min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`;
  }
  return rule?.(value);
}

export function leastLength({ min, mayBeBlank }: TextLimits): number {
  return min ?? (mayBeBlank === true ? 0 : 1);
}

/** Lengths count code points. A text never has fewer UTF-16 units, so these settle the ordinary case. */
function hasLength(text: string, min: number, max: number): boolean {
  if (text.length <= max && (min <= 1 || text.length >= 2 * min)) return text.length >= min;
  if (text.length > 2 * max) return false;
  const length = Array.from(text).length;
  return length >= min && length <= max;
}

export interface TextListLimits {
  readonly minItems?: number;
  readonly maxItems: number;
  readonly item: TextLimits;
}

/** What is wrong with a list of distinct texts, each fault at its index. */
export function textListFault(value: unknown, limits: TextListLimits): string | readonly FaultInside[] | undefined {
  const { minItems = 0, maxItems, item } = limits;
  if (value === undefined) return 'is required';
  if (!Array.isArray(value)) return 'must be an array of strings';
  if (value.length < minItems || value.length > maxItems) {
    return minItems > 0 ? `must have ${minItems} to ${maxItems} items` : `must have at most ${maxItems} items`;
  }
  const seen = new Set<unknown>();
  return value.flatMap((text: unknown, index): FaultInside[] => {
    const message = textFault(text, item) ?? (seen.has(text) ? 'must differ from the items before it' : undefined);
    seen.add(text);
    return message === undefined ? [] : [{ at: `[${index}]`, message }];
  });
}

/** What is wrong with a choice among texts; undefined when it is one of them. */
export function oneOfFault(value: unknown, values: readonly string[]): string | undefined {
  if (typeof value === 'string' && values.includes(value)) return undefined;
  return `${value === undefined ? 'is required:' : 'must be'} one of ${values.join(', ')}`;
}

/** What is wrong with an object of any content. @param rule finds faults in members whose meaning the service knows. */
export function objectFault(
  value: unknown,
  rule: ((value: JsonObject) => readonly FaultInside[]) | undefined,
): string | readonly FaultInside[] | undefined {
  if (value === undefined) return 'is required';
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  return rule?.(value as JsonObject);
}

/** What is wrong with what has to be true or false. */
export function booleanFault(value: unknown): string | undefined {
  return typeof value === 'boolean' ? undefined : 'must be true or false';
}

/** What is wrong with a whole number; undefined when nothing is. */
export function integerFault(value: unknown, min: number, max: number, form = ''): string | undefined {
  if (value === undefined) return 'is required';
  const isInside = typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return isInside ? undefined : `must be an integer from ${min} to ${max}${form}`;
}

/** What is wrong with a text of at most this many code points, a number or a boolean. */
export function scalarFault(value: unknown, maxLength: number): string | undefined {
  if (value === undefined) return 'is required';
  if (typeof value === 'number' || typeof value === 'boolean') return undefined;
  if (typeof value !== 'string') return 'must be a string, a number or a boolean';
  return hasLength(value, 0, maxLength) ? undefined : `must have at most ${maxLength} characters`;
}

/** The members of an object that the service does not define. */
export function unknownMembers(given: object, known: readonly string[]): readonly FaultInside[] {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  const message = `is not known here; known are ${known.join(', ')}`;
  return unknown.map((name) => ({ at: `.${name}`, message }));
}
