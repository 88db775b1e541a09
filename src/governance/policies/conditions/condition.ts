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

/** Undefined if the pointer refers to no scalar. */
function pointedScalar(path: readonly string[], from: JsonValue): JsonScalar | undefined {
  const value = valueAt(path, from);
  return isScalar(value) ? value : undefined;
}

/** What conditions look at in a request. */
export interface ConditionRequest extends OperandSource {
  readonly subject: EvaluationSubject;
  readonly resourceType: string;
  /** The conversation or task of the agent that it is part of; absent or null: of none. */
  readonly run?: string | null | undefined;
  /** The time of the request: ISO 8601 in UTC with milliseconds. */
  readonly at: string;
}

/** What a policy requires of what the agent was authorised to do before: in the same run, or within a time. */
export interface EarlierCondition {
  /** An action, or a pattern of actions. */
  readonly earlier: string;
  /** An ISO 8601 duration up to the time of the request, in any run or none. Left out: in the same run. */
  readonly within?: string | null;
  /** Left out: on any resource. */
  readonly resource?: 'same' | null;
  readonly op: 'exists';
  readonly value: boolean;
}

/** What a policy requires of what is known of the entity that a resource names. */
export interface ClaimCondition {
  /** A predicate. */
  readonly claim: string;
  readonly op: 'supports';
  /** A JSON Pointer to the value that is to be supported. */
  readonly parameter: string;
  /** The least confidence. */
  readonly value: number;
}

/** Which earlier execution a condition looks for. */
export interface EarlierKey {
  /** Null: any run, or none. */
  readonly run: string | null;
  /** The first time that counts; null: all of the run. */
  readonly since: string | null;
  readonly agentId: string;
  /** A pattern. */
  readonly action: string;
  /** By `resourceKey`; null: any. */
  readonly resource: string | null;
  /** Most actions of the agent with which the pattern is compared; absent until it is known how many conditions ask. */
  readonly maxActions?: number;
}

/** Of which entity, and about what, a condition asks what is known. */
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

/** What a condition asks besides the request. */
export type ConditionQuestion = { readonly earlier: EarlierKey } | { readonly claim: ClaimKey };

/** What conditions ask besides the request, gathered before policies decide; what is missing is unknown. */
export interface ConditionFacts {
  /** By `earlierName`, the id of an execution, or null where there is none. */
  readonly earlier: ReadonlyMap<string, string | null>;
  /** By `claimName`; null where the entity does not exist, or has too many. */
  readonly claims: ReadonlyMap<string, readonly ClaimFact[] | null>;
}

export const NO_FACTS: ConditionFacts = { earlier: new Map(), claims: new Map() };

const ENTITY_ID = /^ent_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The entity whose claims count; null if no segment has the form of an entity's id, or more than one has. */
function claimedEntityIn(resourceId: string): string | null {
  const [entityId = null, ...others] = resourceId.split('/').filter((segment) => ENTITY_ID.test(segment));
  return others.length === 0 ? entityId : null;
}

/** The last segment of a resource that has the form of an entity's id; null if none has. */
export function entityIdIn(resourceId: string): string | null {
  return resourceId.split('/').findLast((segment) => ENTITY_ID.test(segment)) ?? null;
}

/** A resource as it is compared with those of earlier executions. */
export function resourceKey({
  resourceType,
  resourceId,
}: Pick<ConditionRequest, 'resourceType' | 'resourceId'>): string {
  return `${resourceType}/${spelledPath(resourceId)}`;
}

/** Identifies what is looked for among what was gathered. */
export function earlierName({ run, since, agentId, action, resource }: EarlierKey): string {
  return JSON.stringify([run, since, agentId, action, resource]);
}

/** Names what a condition asks about an entity. */
export function claimName({ entityId, predicate }: ClaimKey): string {
  return JSON.stringify([entityId, predicate]);
}

/** Whether a claim with the value has enough confidence, and none with another value has as much. */
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

/** What a policy requires of the parameters of a request; `domain` lists host names. */
export type ParameterCondition = ParameterReference &
  (
    | { readonly op: 'eq' | 'ne'; readonly value: JsonScalar | ValueReference }
    | { readonly op: 'in' | 'not_in'; readonly value: readonly JsonScalar[] }
    | { readonly op: NumberComparison; readonly value: number | ParameterReference }
    | { readonly op: 'prefix' | 'within'; readonly value: string }
    | { readonly op: 'domain'; readonly value: readonly string[] }
    | { readonly op: 'exists'; readonly value: boolean }
  );

/** What a policy requires of the principal or the resource of a request. */
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

/** Tells whether a condition holds for a request, by what was gathered besides it. */
type ConditionTest = (request: ConditionRequest, facts: ConditionFacts) => Truth;

export interface CompiledCondition {
  readonly test: ConditionTest;
  /** Whether it reads the clock of a time zone. */
  readonly hasZone?: true;
  /** Number of items of a list that it compares in a request; absent if it looks at no list. */
  readonly itemCount?: (request: OperandSource) => number;
  /** What it asks besides the request, or null where nothing can be known; absent if it asks nothing else. */
  readonly question?: (request: ConditionRequest) => ConditionQuestion | null;
}

export function compileCondition(condition: PolicyCondition): CompiledCondition {
  if ('earlier' in condition) return onEarlier(condition);
  if ('claim' in condition) return onClaims(condition);
  if (condition.op === 'between') return { test: clockTest(condition), hasZone: true };
  return 'parameter' in condition ? onParameter(condition) : { test: identityTest(condition) };
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

/** By request, the time at which each duration before it begins: many conditions look back equally far. */
const beginnings = new WeakMap<ConditionRequest, Map<string, string>>();

/** The time at which a duration that ends with the request begins: ISO 8601. */
function beginningOf(duration: string, request: ConditionRequest): string {
  const cachedBeginnings = beginnings.get(request) ?? new Map<string, string>();
  beginnings.set(request, cachedBeginnings);
  const beginning = cachedBeginnings.get(duration) ?? subtractDuration(duration, request.at);
  cachedBeginnings.set(duration, beginning);
  return beginning;
}

/** Unknown for a subject that is not a registered agent, and, unless it looks at a time, without a run. */
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

/** Unknown if the resource names no entity, or the parameter has no value. */
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

/** Unknown below what stands for a secret or a hash: nobody can tell what it had. */
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

/** Unknown unless it is the same for each value; nothing is known of an empty list. */
function truthOfEach(values: readonly MaybeJson[], truthOfValue: CompareValue): Truth {
  let truth: Truth | null = null;
  for (const value of values) {
    const one = truthOfValue(value);
    if (one === 'unknown' || (truth !== null && one !== truth)) return 'unknown';
    truth = one;
  }
  return truth ?? 'unknown';
}

type CompareValue = (requestValue: MaybeJson) => Truth;

/** Prepares what does not depend on the value once per condition, or once per request: a list may have thousands of items. */
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

/** Two texts of a request are compared for each condition: both may be almost as long as the request. */
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
