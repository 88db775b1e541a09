import type { JsonObject, JsonScalar } from '../../../core/json/json-value';
import type { EvaluationSubject } from '../patterns/subjects';

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
