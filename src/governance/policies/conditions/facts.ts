import type { JsonObject, JsonScalar } from '../../../core/json/json-value';
import { spelledPath } from '../patterns/resources';
import type { EvaluationSubject } from '../patterns/subjects';
import { pathOf, pointedScalar } from './pointers';

/** What conditions look at in a request. */
export interface ConditionRequest {
  readonly subject: EvaluationSubject;
  readonly resourceType: string;
  /** A resource path or name; a leading `/` is ignored. */
  readonly resourceId: string;
  readonly parameters: JsonObject;
  /** The conversation or task of the agent that it is part of; absent or null: of none. */
  readonly run?: string | null | undefined;
  /** The time of the request: ISO 8601 in UTC with milliseconds. */
  readonly at: string;
}

/** What a policy requires of what the agent was authorised to do before, in the same run. */
export interface EarlierCondition {
  /** An action, or a pattern of actions. */
  readonly earlier: string;
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
  readonly run: string;
  readonly agentId: string;
  /** A pattern. */
  readonly action: string;
  /** By `resourceKey`; null: any. */
  readonly resource: string | null;
}

/** Of which entity, and about what, a condition asks what is known. */
export interface ClaimKey {
  readonly entityId: string;
  /** In normal form C. */
  readonly predicate: string;
}

export interface KnownClaim {
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
  readonly claims: ReadonlyMap<string, readonly KnownClaim[] | null>;
}

export const NO_FACTS: ConditionFacts = { earlier: new Map(), claims: new Map() };

const ENTITY_ID = /^ent_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

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
export function earlierName({ run, agentId, action, resource }: EarlierKey): string {
  return JSON.stringify([run, agentId, action, resource]);
}

/** The same of what is asked about an entity. */
export function claimName({ entityId, predicate }: ClaimKey): string {
  return JSON.stringify([entityId, predicate]);
}

type Asked<Kind extends string> = Extract<ConditionQuestion, Readonly<Record<Kind, unknown>>> | null;

/** What a condition asks about a request; null where nothing can be known: without a run, or a registered agent. */
export function earlierAsked({ earlier, resource }: EarlierCondition, request: ConditionRequest): Asked<'earlier'> {
  const { run = null, subject } = request;
  if (run === null || !('agentId' in subject) || subject.agentId === '') return null;
  const key = resource === 'same' ? resourceKey(request) : null;
  return { earlier: { run, agentId: subject.agentId, action: earlier, resource: key } };
}

/** The same; null where no entity is named, or there is no value that could be supported. */
export function claimAsked({ claim, parameter }: ClaimCondition, request: ConditionRequest): Asked<'claim'> {
  const entityId = entityIdIn(request.resourceId);
  if (entityId === null || pointedScalar(pathOf(parameter), request.parameters) === undefined) return null;
  return { claim: { entityId, predicate: claim.normalize('NFC') } };
}

/** Whether there is such an earlier execution, or none, as the condition wants it. */
export function holdsByEarlier(
  condition: EarlierCondition,
  request: ConditionRequest,
  { earlier }: ConditionFacts,
): boolean | 'unknown' {
  const asked = earlierAsked(condition, request);
  const found = asked === null ? undefined : earlier.get(earlierName(asked.earlier));
  return found === undefined ? 'unknown' : (found !== null) === condition.value;
}

/** Whether what is claimed supports the value. */
export function holdsByClaims(
  condition: ClaimCondition,
  request: ConditionRequest,
  { claims }: ConditionFacts,
): boolean | 'unknown' {
  const asked = claimAsked(condition, request);
  const known = asked === null ? null : (claims.get(claimName(asked.claim)) ?? null);
  const value = pointedScalar(pathOf(condition.parameter), request.parameters);
  return known === null ? 'unknown' : isSupported(value, condition.value, known);
}

/** Whether a claim with the value is sure enough, and none with another value is as sure. */
function isSupported(value: unknown, least: number, claims: readonly KnownClaim[]): boolean {
  const surest = Math.max(...claims.map((claim) => (claim.value === value ? claim.confidence : -1)));
  return surest >= least && claims.every((claim) => claim.value === value || claim.confidence < surest);
}
