import { pathOf, pointedScalar } from './pointers';
import type { ClaimKey, ConditionFacts, ConditionRequest, KnownClaim } from './facts';

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

const ENTITY_ID = /^ent_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The last segment of a resource that has the form of an entity's id; null if none has. */
export function entityIdIn(resourceId: string): string | null {
  return resourceId.split('/').findLast((segment) => ENTITY_ID.test(segment)) ?? null;
}

/** Identifies what is asked among what was gathered. */
export function claimName({ entityId, predicate }: ClaimKey): string {
  return JSON.stringify([entityId, predicate]);
}

/** Null where no entity is named, or there is no value that could be supported. */
export function claimKey({ claim, parameter }: ClaimCondition, request: ConditionRequest): ClaimKey | null {
  const entityId = entityIdIn(request.resourceId);
  if (entityId === null || pointedScalar(pathOf(parameter), request.parameters) === undefined) return null;
  return { entityId, predicate: claim.normalize('NFC') };
}

export function claimTest(
  condition: ClaimCondition,
): (request: ConditionRequest, facts: ConditionFacts) => boolean | 'unknown' {
  const path = pathOf(condition.parameter);
  return (request, { claims }) => {
    const key = claimKey(condition, request);
    const known = key === null ? null : (claims.get(claimName(key)) ?? null);
    const value = pointedScalar(path, request.parameters);
    return known === null || value === undefined ? 'unknown' : isSupported(value, condition.value, known);
  };
}

/** Whether a claim with the value is sure enough, and none with another value is as sure. */
function isSupported(value: unknown, least: number, claims: readonly KnownClaim[]): boolean {
  const surest = Math.max(...claims.map((claim) => (claim.value === value ? claim.confidence : -1)));
  return surest >= least && claims.every((claim) => claim.value === value || claim.confidence < surest);
}
