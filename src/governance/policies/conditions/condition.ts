import type { JsonScalar, JsonValue } from '../../../core/json/json-value';
import { subtractDuration } from '../../../core/values/duration';
import { hostIn, isInDomains } from '../patterns/host-names';
import { spelledPath, withinTest } from '../patterns/resources';
import type { EvaluationSubject } from '../patterns/subjects';
import { type ClockCondition, clockTest } from './clock';
import { EACH, isScalar, pathOf } from './condition-faults';
import { readsTooMuch } from './listed-texts';
import {
  HIDDEN,
  inEverySpelling,
  isList,
  isReference,
  type MaybeJson,
  operandReader,
  type OperandSource,
  type ParameterReference,
  type PrincipalReference,
  type ResourceReference,
  valueAt,
  type ValueReference,
} from './operand';
import { normalFormC } from '../../../core/values/normal-form';

/** Returns the scalar at a path; undefined if there is none. */
function pointedScalar(path: readonly string[], from: JsonValue): JsonScalar | undefined {
  const value = valueAt(path, from);
  return isScalar(value) ? value : undefined;
}

/** The parts of a request that conditions examine. */
export interface ConditionRequest extends OperandSource {
  readonly subject: EvaluationSubject;
  readonly resourceType: string;
  /** Conversation or task of the agent that the request is part of; absent or null if there is none. */
  readonly run?: string | null | undefined;
  /** The time of the request: ISO 8601 in UTC with milliseconds. */
  readonly at: string;
}

/** A condition on what the agent was authorised to do before: in the same run, or within a time. */
export interface EarlierCondition {
  /** An action, or a pattern of actions. */
  readonly earlier: string;
  /** An ISO 8601 duration up to the time of the request, in any run or none. Left out: in the same run. */
  readonly within?: string | null;
  /** `same` for the resource of the request; left out for any resource. */
  readonly resource?: 'same' | null;
  readonly op: 'exists';
  readonly value: boolean;
}

/** A condition on the claims about the entity that a resource names. */
export interface ClaimCondition {
  /** A predicate. */
  readonly claim: string;
  readonly op: 'supports';
  /** A JSON Pointer to the value that claims must support. */
  readonly parameter: string;
  /** The least confidence. */
  readonly value: number;
}

/** The earlier execution that a condition looks for. */
export interface EarlierKey {
  /** Run of the execution; null for any run, or none. */
  readonly run: string | null;
  /** First time that counts, in ISO 8601; null if the whole run counts. */
  readonly since: string | null;
  readonly agentId: string;
  /** Pattern of actions. */
  readonly action: string;
  /** Resource by {@link resourceKey}; null for any. */
  readonly resource: string | null;
  /** Most actions of the agent with which the pattern is compared; absent until it is known how many conditions ask. */
  readonly maxActions?: number;
}

/** The claims that a condition needs: entity and predicate. */
export interface ClaimKey {
  readonly entityId: string;
  /** In normal form C. */
  readonly predicate: string;
}

export interface ClaimFact {
  readonly id: string;
  readonly value: JsonScalar;
  readonly confidence: number;
}

/** The fact that a condition needs in addition to the request. */
export type ConditionQuestion = { readonly earlier: EarlierKey } | { readonly claim: ClaimKey };

/** Facts that conditions need, gathered before policies decide; a missing fact is unknown. */
export interface ConditionFacts {
  /** Maps {@link earlierName} to the id of an execution; null if there is none. */
  readonly earlier: ReadonlyMap<string, string | null>;
  /** Maps {@link claimName} to claims; null if the entity does not exist, or has too many. */
  readonly claims: ReadonlyMap<string, readonly ClaimFact[] | null>;
}

export const NO_FACTS: ConditionFacts = { earlier: new Map(), claims: new Map() };

const ENTITY_ID = /^ent_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Returns the entity whose claims count; null if not exactly one segment has the form of an entity's id. */
function claimedEntityIn(resourceId: string): string | null {
  const [entityId = null, ...others] = resourceId.split('/').filter((segment) => ENTITY_ID.test(segment));
  return others.length === 0 ? entityId : null;
}

/** Returns the last segment of a resource that has the form of an entity's id; null if none has. */
export function entityIdIn(resourceId: string): string | null {
  return resourceId.split('/').findLast((segment) => ENTITY_ID.test(segment)) ?? null;
}

/** Returns a resource in the form in which it is compared with those of earlier executions. */
export function resourceKey({
  resourceType,
  resourceId,
}: Pick<ConditionRequest, 'resourceType' | 'resourceId'>): string {
  return `${resourceType}/${spelledPath(resourceId)}`;
}

/** Names an earlier execution among the gathered facts. */
export function earlierName({ run, since, agentId, action, resource }: EarlierKey): string {
  return JSON.stringify([run, since, agentId, action, resource]);
}

/** Names the claims of an entity among the gathered facts. */
export function claimName({ entityId, predicate }: ClaimKey): string {
  return JSON.stringify([entityId, predicate]);
}

/** True if a claim with the value has enough confidence, and no claim with another value has as much. */
function isSupported(value: unknown, least: number, claims: readonly ClaimFact[]): boolean {
  const surest = Math.max(...claims.map((claim) => (claim.value === value ? claim.confidence : -1)));
  return surest >= least && claims.every((claim) => claim.value === value || claim.confidence < surest);
}

export type NumberComparison = 'lt' | 'lte' | 'gt' | 'gte';

export const PARAMETER_OPERATORS = [
  'eq',
  'ne',
  'in',
  'not_in',
  'lt',
  'lte',
  'gt',
  'gte',
  'prefix',
  'within',
  'domain',
  'exists',
] as const satisfies readonly string[];
/** The operators for a principal or a resource. */
export const IDENTITY_OPERATORS = ['eq', 'ne', 'in', 'not_in', 'domain', 'exists'] as const satisfies readonly string[];
export const CONDITION_OPERATORS = [...PARAMETER_OPERATORS, 'between', 'supports'] as const;

/** A condition on a parameter of a request; `domain` lists host names. */
export type ParameterCondition = ParameterReference &
  (
    | { readonly op: 'eq' | 'ne'; readonly value: JsonScalar | ValueReference }
    | { readonly op: 'in' | 'not_in'; readonly value: readonly JsonScalar[] }
    | { readonly op: NumberComparison; readonly value: number | ParameterReference }
    | { readonly op: 'prefix' | 'within'; readonly value: string }
    | { readonly op: 'domain'; readonly value: readonly string[] }
    | { readonly op: 'exists'; readonly value: boolean }
  );

/** A condition on the principal or the resource of a request. */
export type IdentityCondition = (PrincipalReference | ResourceReference) &
  (
    | { readonly op: 'eq' | 'ne'; readonly value: JsonScalar | ValueReference }
    | { readonly op: 'in' | 'not_in'; readonly value: readonly JsonScalar[] }
    | { readonly op: 'domain'; readonly value: readonly string[] }
    | { readonly op: 'exists'; readonly value: boolean }
  );

export type PolicyCondition =
  | ParameterCondition
  | IdentityCondition
  | ClockCondition
  | EarlierCondition
  | ClaimCondition;

/** `unknown` if there is nothing to compare, or nothing comparable with the value. */
export type Truth = boolean | 'unknown';

/** Evaluates a condition for a request and the gathered facts. */
type ConditionTest = (request: ConditionRequest, facts: ConditionFacts) => Truth;

export interface CompiledCondition {
  readonly test: ConditionTest;
  /** True if the condition reads the clock of a time zone. */
  readonly hasZone?: true;
  /** Returns the number of compared list items; absent if the condition examines no list. */
  readonly itemCount?: (request: OperandSource) => number;
  /** Returns the needed fact; null if it cannot be known. Absent if the request suffices. */
  readonly question?: (request: ConditionRequest) => ConditionQuestion | null;
}

export function compileCondition(condition: PolicyCondition): CompiledCondition {
  if ('earlier' in condition) return onEarlier(condition);
  if ('claim' in condition) return onClaims(condition);
  if (condition.op === 'between') return { test: clockTest(condition), hasZone: true };
  const compiled = 'parameter' in condition ? onParameter(condition) : { test: identityTest(condition) };
  return { ...compiled, test: inEverySpelling(condition, compiled.test) };
}

/** True if all conditions hold: false if any is false, otherwise unknown if any is unknown. */
export function truthOf(
  conditions: readonly CompiledCondition[],
  request: ConditionRequest,
  facts: ConditionFacts,
): Truth {
  let truth: Truth = true;
  for (const condition of conditions) {
    const result = condition.test(request, facts);
    if (result === false) return false;
    if (result === 'unknown') truth = 'unknown';
  }
  return truth;
}

/** Times at which durations before a request begin: many conditions look back equally far. */
const beginnings = new WeakMap<ConditionRequest, Map<string, string>>();

/** Returns the time, in ISO 8601, at which a duration begins that ends with the request. */
function beginningOf(duration: string, request: ConditionRequest): string {
  const cachedBeginnings = beginnings.get(request) ?? new Map<string, string>();
  beginnings.set(request, cachedBeginnings);
  const beginning = cachedBeginnings.get(duration) ?? subtractDuration(duration, request.at);
  cachedBeginnings.set(duration, beginning);
  return beginning;
}

/** Unknown for a subject that is not a registered agent; without `within`, also outside of a run. */
function onEarlier({ earlier: action, within = null, resource, value }: EarlierCondition): CompiledCondition {
  const question = (request: ConditionRequest): { readonly earlier: EarlierKey } | null => {
    const { subject } = request;
    const [run, since] = within === null ? [request.run ?? null, null] : [null, beginningOf(within, request)];
    if ((run === null && since === null) || !('agentId' in subject) || subject.agentId === '') return null;
    const same = resource === 'same' ? resourceKey(request) : null;
    return { earlier: { run, since, agentId: subject.agentId, action, resource: same } };
  };
  return {
    question,
    test: (request, { earlier }) => {
      const factKey = question(request);
      const earlierExecution = factKey === null ? undefined : earlier.get(earlierName(factKey.earlier));
      return earlierExecution === undefined ? 'unknown' : (earlierExecution !== null) === value;
    },
  };
}

/** The result is unknown if the resource names no entity, or the parameter has no value. */
function onClaims({ claim: rawPredicate, parameter, value: least }: ClaimCondition): CompiledCondition {
  const [predicate, path] = [normalFormC(rawPredicate), pathOf(parameter)];
  const question = ({ resourceId, parameters }: ConditionRequest): { readonly claim: ClaimKey } | null => {
    const entityId = claimedEntityIn(resourceId);
    return entityId === null || pointedScalar(path, parameters) === undefined
      ? null
      : { claim: { entityId, predicate } };
  };
  return {
    question,
    test: (request, { claims }) => {
      const factKey = question(request);
      const claimFact = factKey === null ? null : (claims.get(claimName(factKey.claim)) ?? null);
      return claimFact === null ? 'unknown' : isSupported(pointedScalar(path, request.parameters), least, claimFact);
    },
  };
}

function onParameter(condition: ParameterCondition): CompiledCondition {
  const path = pathOf(condition.parameter);
  if (condition.op === 'exists') return { test: presenceTest(path, condition.value) };
  const comparison = comparisonFor(condition);
  const each = path.indexOf(EACH);
  if (each < 0) return { test: (request) => comparison(request)(valueAt(path, request.parameters)) };
  const [before, after] = [path.slice(0, each), path.slice(each + 1)];
  return {
    test: (request) => {
      const compare = comparison(request);
      const list = valueAt(before, request.parameters);
      if (!isList(list)) return compare(valueAt(path, request.parameters));
      const values = list.map((item) => valueAt(after, item));
      return readsTooMuch(condition.op, values) ? 'unknown' : truthOfEach(values, compare);
    },
    itemCount: ({ parameters }) => {
      const list = valueAt(before, parameters);
      return isList(list) ? list.length : 0;
    },
  };
}

/** Unknown inside a value that a replacement hides: nobody can tell its members. */
function presenceTest(path: readonly string[], isExpected: boolean): ConditionTest {
  return ({ parameters }) => {
    const value = valueAt(path, parameters);
    return value === HIDDEN ? 'unknown' : (value !== undefined) === isExpected;
  };
}

function identityTest(condition: IdentityCondition): ConditionTest {
  const read = operandReader(condition);
  if (condition.op === 'exists') return (request) => (read(request) !== undefined) === condition.value;
  const comparison = comparisonFor(condition);
  return (request) => comparison(request)(read(request));
}

/** Returns the result that all values share; unknown if they differ, or for an empty list. */
function truthOfEach(values: readonly MaybeJson[], truthOfValue: CompareValue): Truth {
  let truth: Truth | null = null;
  for (const value of values) {
    const result = truthOfValue(value);
    if (result === 'unknown' || (truth !== null && result !== truth)) return 'unknown';
    truth = result;
  }
  return truth ?? 'unknown';
}

type CompareValue = (requestValue: MaybeJson) => Truth;

/** Prepares parts that do not depend on the compared value, because a list may have thousands of items. */
function comparisonFor(
  condition: Exclude<ParameterCondition | IdentityCondition, { op: 'exists' }>,
): (request: OperandSource) => CompareValue {
  const { op, value } = condition;
  switch (op) {
    case 'prefix':
      return ignoreRequest((left) => (typeof left === 'string' ? left.startsWith(value) : 'unknown'));
    case 'within': {
      const isWithin = withinTest(value);
      return ignoreRequest((left) => (typeof left === 'string' ? isWithin(left) : 'unknown'));
    }
    case 'domain':
      return ignoreRequest((left) => {
        const host = typeof left === 'string' ? hostIn(left) : null;
        return host === null ? 'unknown' : isInDomains(host, value);
      });
    case 'in':
    case 'not_in': {
      const types = new Set(value.map(typeOf));
      const values = new Set(value);
      return ignoreRequest((left) =>
        isScalar(left) && (left === null || types.has(typeOf(left))) ? values.has(left) === (op === 'in') : 'unknown',
      );
    }
    case 'eq':
    case 'ne':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte': {
      if (!isReference(value)) return ignoreRequest((left) => compares(left, op, value));
      const read = operandReader(value);
      return (request) => {
        const right = read(request);
        return isLong(right) ? () => 'unknown' : (left) => (isLong(left) ? 'unknown' : compares(left, op, right));
      };
    }
  }
}

/** Most characters of a text that is compared with another text of the request, for each condition. */
const MAX_COMPARED_CHARACTERS = 4_096;

function isLong(value: MaybeJson): boolean {
  return typeof value === 'string' && value.length > MAX_COMPARED_CHARACTERS;
}

function ignoreRequest(compare: CompareValue): () => CompareValue {
  return () => compare;
}

/** Values of different types are not comparable, except with null: a value of another type is never null. */
function compares(left: MaybeJson, op: 'eq' | 'ne' | NumberComparison, right: MaybeJson): Truth {
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

/** True for a condition on a parameter, except one on claims. */
export function isOnParameter(condition: PolicyCondition): condition is ParameterCondition {
  return 'parameter' in condition && !('claim' in condition);
}

function typeOf(value: JsonScalar): string {
  return value === null ? 'null' : typeof value;
}
