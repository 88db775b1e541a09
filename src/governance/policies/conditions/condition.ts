import type { JsonObject, JsonScalar, JsonValue } from '../../../core/json/json-value';
import { liesWithin } from '../patterns/resources';
import { type ClockCondition, clockTest } from './clock';
import { EACH, isList, isScalar, pathOf, valueAt } from './pointers';
import {
  claimAsked,
  type ClaimCondition,
  type ConditionFacts,
  type ConditionQuestion,
  type ConditionRequest,
  earlierAsked,
  type EarlierCondition,
  holdsByClaims,
  holdsByEarlier,
} from './facts';

export type NumberComparison = 'lt' | 'lte' | 'gt' | 'gte';

export const PARAMETER_OPERATORS = [
  ...['eq', 'ne', 'in', 'not_in', 'lt', 'lte', 'gt', 'gte', 'prefix', 'within', 'exists'],
] as const satisfies readonly string[];
export const CONDITION_OPERATORS = [...PARAMETER_OPERATORS, 'between', 'supports'] as const;

/** A parameter of the request. It is a JSON Pointer (RFC 6901); `*` as one of its tokens stands for each item of a list. */
export interface ParameterReference {
  readonly parameter: string;
}

/** What a policy requires of the parameters of a request. */
export type ParameterCondition = ParameterReference &
  (
    | { readonly op: 'eq' | 'ne'; readonly value: JsonScalar | ParameterReference }
    | { readonly op: 'in' | 'not_in'; readonly value: readonly JsonScalar[] }
    | { readonly op: NumberComparison; readonly value: number | ParameterReference }
    | { readonly op: 'prefix' | 'within'; readonly value: string }
    | { readonly op: 'exists'; readonly value: boolean }
  );

export type PolicyCondition = ParameterCondition | ClockCondition | EarlierCondition | ClaimCondition;

/** `unknown` if there is nothing to compare, or nothing comparable with the value. */
export type Truth = boolean | 'unknown';

/** Tells whether a condition holds for a request, by what was gathered besides it. */
type ConditionTest = (request: ConditionRequest, facts: ConditionFacts) => Truth;

export interface CompiledCondition {
  readonly test: ConditionTest;
  /** What it asks besides the request, or null where nothing can be known; absent if it asks nothing else. */
  readonly question?: (request: ConditionRequest) => ConditionQuestion | null;
}

export function compileConditions(conditions: readonly PolicyCondition[]): readonly CompiledCondition[] {
  return conditions.map(compiled);
}

/** Whether all conditions hold: false if any is false, otherwise unknown if any is unknown. */
export function truthOf(
  conditions: readonly CompiledCondition[],
  request: ConditionRequest,
  facts: ConditionFacts,
): Truth {
  let truth: Truth = true;
  for (const condition of conditions) {
    const one = condition.test(request, facts);
    if (one === false) return false;
    if (one === 'unknown') truth = 'unknown';
  }
  return truth;
}

function compiled(condition: PolicyCondition): CompiledCondition {
  if ('earlier' in condition)
    return {
      test: (request, facts) => holdsByEarlier(condition, request, facts),
      question: (request) => earlierAsked(condition, request),
    };
  if ('claim' in condition)
    return {
      test: (request, facts) => holdsByClaims(condition, request, facts),
      question: (request) => claimAsked(condition, request),
    };
  return { test: condition.op === 'between' ? clockTest(condition) : parameterTest(condition) };
}

function parameterTest(condition: ParameterCondition): ConditionTest {
  const path = pathOf(condition.parameter);
  if (condition.op === 'exists')
    return ({ parameters }) => (valueAt(path, parameters) !== undefined) === condition.value;
  const compare = comparison(condition);
  const each = path.indexOf(EACH);
  if (each < 0) return ({ parameters }) => compare(valueAt(path, parameters), parameters);
  const [before, after] = [path.slice(0, each), path.slice(each + 1)];
  return ({ parameters }) => {
    const list = valueAt(before, parameters);
    return isList(list)
      ? truthOfEach(list, (item) => compare(valueAt(after, item), parameters))
      : compare(valueAt(path, parameters), parameters);
  };
}

/** Unknown unless it is the same for each item; nothing is known of an empty list. */
function truthOfEach(list: readonly JsonValue[], truthOfItem: (item: JsonValue) => Truth): Truth {
  let truth: Truth | null = null;
  for (const item of list) {
    const one = truthOfItem(item);
    if (one === 'unknown' || (truth !== null && one !== truth)) return 'unknown';
    truth = one;
  }
  return truth ?? 'unknown';
}

type Found = JsonValue | undefined;

function comparison(condition: Exclude<ParameterCondition, { op: 'exists' }>): (found: Found, of: JsonObject) => Truth {
  const { op, value } = condition;
  switch (op) {
    case 'prefix':
      return (found) => (typeof found === 'string' ? found.startsWith(value) : 'unknown');
    case 'within':
      return (found) => (typeof found === 'string' ? liesWithin(found, value) : 'unknown');
    case 'in':
    case 'not_in': {
      const types = new Set(value.map(typeOf));
      return (found) =>
        isScalar(found) && (found === null || types.has(typeOf(found)))
          ? value.includes(found) === (op === 'in')
          : 'unknown';
    }
    case 'eq':
    case 'ne':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte': {
      if (!isReference(value)) return (found) => compares(found, op, value);
      const path = pathOf(value.parameter);
      return (found, parameters) => compares(found, op, valueAt(path, parameters));
    }
  }
}

/** Values of different types are not comparable, except with null: a value of another type is never null. */
function compares(left: Found, op: 'eq' | 'ne' | NumberComparison, right: Found): Truth {
  if (op === 'eq' || op === 'ne') {
    if (!isScalar(left) || !isScalar(right)) return 'unknown';
    const areComparable = left === null || right === null || typeof left === typeof right;
    return areComparable ? (left === right) === (op === 'eq') : 'unknown';
  }
  if (typeof left !== 'number' || typeof right !== 'number') return 'unknown';
  if (op === 'lt') return left < right;
  if (op === 'lte') return left <= right;
  return op === 'gt' ? left > right : left >= right;
}

export function isReference(value: ParameterCondition['value']): value is ParameterReference {
  return typeof value === 'object' && value !== null && 'parameter' in value;
}

/** Whether it asks nothing but the request. */
export function isOnParameter(condition: PolicyCondition): condition is ParameterCondition {
  return 'parameter' in condition && !('claim' in condition);
}

function typeOf(value: JsonScalar): string {
  return value === null ? 'null' : typeof value;
}
