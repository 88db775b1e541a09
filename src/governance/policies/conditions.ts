import type { JsonObject, JsonScalar, JsonValue } from '../../core/json/json-value';
import type { FaultInside } from '../../http/validation/member-rule';
import { unknownMembers } from '../../http/validation/body-fields';
import { oneOfFault, textFault } from '../../http/validation/value-rules';

export const CONDITION_OPERATORS = [
  ...['eq', 'ne', 'in', 'not_in', 'lt', 'lte', 'gt', 'gte', 'prefix', 'exists'],
] as const satisfies readonly string[];

export type NumberComparison = 'lt' | 'lte' | 'gt' | 'gte';

/** What a policy requires of the parameters of a request. `parameter` is a JSON Pointer (RFC 6901). */
export type PolicyCondition = { readonly parameter: string } & (
  | { readonly op: 'eq' | 'ne'; readonly value: JsonScalar }
  | { readonly op: 'in' | 'not_in'; readonly value: readonly JsonScalar[] }
  | { readonly op: NumberComparison; readonly value: number }
  | { readonly op: 'prefix'; readonly value: string }
  | { readonly op: 'exists'; readonly value: boolean }
);

/** A condition with its pointer parsed. */
export interface CompiledCondition {
  readonly path: readonly string[];
  readonly condition: PolicyCondition;
}

/** `unknown` if there is nothing to compare, or nothing comparable with the value. */
export type Truth = boolean | 'unknown';

export function compileConditions(conditions: readonly PolicyCondition[]): readonly CompiledCondition[] | null {
  return conditions.length === 0
    ? null
    : conditions.map((condition) => ({ path: pathOf(condition.parameter), condition }));
}

/** Whether all conditions hold: false if any is false, otherwise unknown if any is unknown. */
export function truthOf(conditions: readonly CompiledCondition[], parameters: JsonObject): Truth {
  let truth: Truth = true;
  for (const condition of conditions) {
    const one = truthOfOne(condition, parameters);
    if (one === false) return false;
    if (one === 'unknown') truth = 'unknown';
  }
  return truth;
}

function truthOfOne({ path, condition }: CompiledCondition, parameters: JsonObject): Truth {
  const found = valueAt(path, parameters);
  if (condition.op === 'exists') return (found !== undefined) === condition.value;
  if (found === undefined || (typeof found === 'object' && found !== null)) return 'unknown';
  switch (condition.op) {
    case 'eq':
      return found === condition.value;
    case 'ne':
      return found !== condition.value;
    case 'in':
      return condition.value.includes(found);
    case 'not_in':
      return !condition.value.includes(found);
    case 'prefix':
      return typeof found === 'string' ? found.startsWith(condition.value) : 'unknown';
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return typeof found === 'number' ? compares(found, condition.op, condition.value) : 'unknown';
  }
}

function compares(left: number, op: NumberComparison, right: number): boolean {
  if (op === 'lt') return left < right;
  if (op === 'lte') return left <= right;
  return op === 'gt' ? left > right : left >= right;
}

/** Undefined if the pointer refers to nothing. */
function valueAt(path: readonly string[], parameters: JsonObject): JsonValue | undefined {
  let value: JsonValue | undefined = parameters;
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) value = INDEX.test(name) ? (value as readonly JsonValue[])[Number(name)] : undefined;
    else value = Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined;
  }
  return value;
}

/** According to RFC 6901: without leading zeros. */
const INDEX = /^(?:0|[1-9]\d*)$/;

function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export const MOST_CONDITIONS = 20;
export const LONGEST_POINTER = 500;
export const MOST_VALUES = 100;

const MEMBERS = ['parameter', 'op', 'value'];
const NUMERIC = ['lt', 'lte', 'gt', 'gte'];
const ESCAPE = /~(?![01])/;

/** What is wrong with the `conditions` of a policy; undefined when nothing is. */
export function conditionsFault(value: unknown): string | readonly FaultInside[] | undefined {
  if (!Array.isArray(value) || value.length > MOST_CONDITIONS)
    return `must be an array of at most ${MOST_CONDITIONS} conditions`;
  return value.flatMap((condition: unknown, index) =>
    conditionFaults(condition).map(({ at, message }) => ({ at: `[${index}]${at}`, message })),
  );
}

function conditionFaults(given: unknown): FaultInside[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return [{ at: '', message: 'must be an object' }];
  const members = given as Readonly<Record<string, unknown>>;
  const { parameter, op, value } = members;
  const found = {
    '.parameter': textFault(parameter, { max: LONGEST_POINTER, rule: pointerFault }),
    '.op': oneOfFault(op, CONDITION_OPERATORS),
    '.value': typeof op === 'string' ? valueFault(op, value) : undefined,
  };
  return [
    ...unknownMembers(members, MEMBERS),
    ...Object.entries(found).flatMap(([at, message]) => (message === undefined ? [] : [{ at, message }])),
  ];
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith('/')) return 'must be a JSON Pointer that begins with "/", such as "/amount"';
  return ESCAPE.test(pointer) ? 'must have "~" as "~0", and "/" inside a name as "~1"' : undefined;
}

function valueFault(op: string, value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  if (op === 'exists') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (op === 'prefix') return typeof value === 'string' ? undefined : 'must be a string';
  if (NUMERIC.includes(op)) return typeof value === 'number' ? undefined : 'must be a number';
  if (op === 'in' || op === 'not_in')
    return Array.isArray(value) && value.length >= 1 && value.length <= MOST_VALUES && value.every(isScalar)
      ? undefined
      : `must be an array of 1 to ${MOST_VALUES} strings, numbers, booleans or nulls`;
  return isScalar(value) ? undefined : 'must be a string, a number, a boolean or null';
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
