import type { JsonObject } from '../../../core/json/json-value';
import { invalidField } from '../../../core/errors/domain-error';
import { addDuration } from '../../../core/values/duration';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import { sha256 } from '../../../ledger/chain/hash-chain';
import type { Agent } from '../../agents/agent.entity';
import {
  type ApprovalRequirement,
  excessOf,
  type GivenGrant,
  type GrantAllowance,
  lengthOf,
} from '../../policies/approval/approval-requirement';
import { areFilled, fillableBy, groupsOf } from '../../policies/approval/approver-groups';
import { matchesAsAllow } from '../../policies/patterns/resources';
import type { Decision, Review } from '../decision.entity';
import type { CountedReview } from '../reviewers';
import type { Grant } from './grant.entity';

/** Most grants that are looked at for one request: the oldest that meet it. */
const MOST_TRIED = 20;

/** What an agent asks for, on whose behalf. */
export interface CoverageRequest extends Pick<
  Grant,
  'agentId' | 'action' | 'resourceType' | 'resourceId' | 'onBehalfOf'
> {
  readonly parameters: JsonObject;
}

/** What a grant is good for, and how long. */
export type GrantTerms = Pick<Grant, 'resources' | 'parametersHash' | 'until' | 'uses'>;

/** A grant with the decision that gave it, and its reviewers. */
export interface GrantWithReviews {
  readonly grant: Grant;
  readonly decision: Decision;
  readonly reviewers: readonly CountedReview[];
}

/** What is required of a grant today. */
export interface TodaysTerms {
  readonly requirement: ApprovalRequirement;
  /** ISO 8601. */
  readonly now: string;
  /** Whether a policy denies an agent to approve this now. */
  readonly isForbidden: (reviewer: Agent) => boolean;
}

export function parametersHashOf(parameters: JsonObject): string {
  return sha256(canonicalJson(parameters));
}

/** The terms of the grant that all reviewers gave. */
export function termsOf(
  given: GivenGrant,
  { uses }: GrantAllowance,
  { parameters }: Pick<CoverageRequest, 'parameters'>,
  now: string,
): GrantTerms {
  return {
    resources: given.resources,
    parametersHash: given.parameters === 'any' ? null : parametersHashOf(parameters),
    until: addDuration(given.for, now),
    uses: given.uses ?? uses,
  };
}

/**
 * Those that cover the request and have not expired, the oldest first.
 * @param known the oldest first
 * @param hash of the request's parameters, by {@link parametersHashOf}
 */
export function meeting<Known extends { readonly grant: Grant }>(
  known: readonly Known[],
  asked: CoverageRequest,
  hash: string,
  now: string,
): Known[] {
  return known.filter(({ grant }) => grant.until > now && meets(grant, asked, hash)).slice(0, MOST_TRIED);
}

function meets(grant: Grant, asked: CoverageRequest, hash: string): boolean {
  const { agentId, action, resourceType, resourceId, onBehalfOf } = asked;
  return (
    grant.agentId === agentId &&
    grant.action === action &&
    grant.resourceType === resourceType &&
    grant.onBehalfOf === onBehalfOf &&
    (grant.parametersHash ?? hash) === hash &&
    (grant.resources === null
      ? grant.resourceId === resourceId
      : matchesAsAllow(grant.resources, { resourceType, resourceId }))
  );
}

/** Whether its reviewers could give it today. How often it was used does not count. */
export function holds({ grant, decision, reviewers }: GrantWithReviews, terms: TodaysTerms): boolean {
  const { now, isForbidden } = terms;
  const { approvers, grant: allowed } = terms.requirement;
  // A grant made with a rejection is its reviewer's own choice: no policy has to allow it.
  if (decision.status === 'approved' && !isWithin(grant, allowed, now)) return false;
  const counting = reviewers.filter(({ agent }) => agent.status === 'active' && !isForbidden(agent));
  return areFilled(
    approvers,
    counting.map(({ agent, isSigned }) => fillableBy(isSigned, groupsOf(agent, approvers), approvers)),
  );
}

function isWithin(
  { createdAt, uses, resources, parametersHash }: Grant,
  allowed: GrantAllowance | undefined,
  now: string,
): boolean {
  if (allowed === undefined) return false;
  const age = Date.parse(now) - Date.parse(createdAt);
  return (
    age <= lengthOf(allowed.for) &&
    (allowed.uses === null || (uses !== null && uses <= allowed.uses)) &&
    (allowed.wider || !isWider({ resources, parametersHash }))
  );
}

/** Whether it is for more than was asked for. */
export function isWider({ resources, parametersHash }: Pick<Grant, 'resources' | 'parametersHash'>): boolean {
  return resources !== null || parametersHash === null;
}

/** The reviews that gave it: the approvals, or the rejection that named what the reviewer would approve. */
export function givingReviews({ reviews }: Pick<Decision, 'reviews'>): readonly Review[] {
  const rejection = reviews.filter(({ verdict }) => verdict === 'reject');
  return rejection.length > 0 ? rejection : reviews;
}

/**
 * @param asked what the decision is about; null if that is not an execution, or was erased
 * @throws VALIDATION_ERROR when a grant goes beyond what the decision allows, or does not cover what was asked for.
 */
export function requireGrantable(
  given: GivenGrant,
  decision: Decision,
  asked: Pick<CoverageRequest, 'resourceType' | 'resourceId'> | null,
): void {
  const isUncovered = asked !== null && given.resources !== null && !matchesAsAllow(given.resources, asked);
  const uncovered = isUncovered
    ? { at: '.resources', message: `must cover what was asked for: ${asked.resourceType} ${asked.resourceId}` }
    : undefined;
  const fault = excessOf(given, decision.grant) ?? uncovered;
  if (fault !== undefined) throw invalidField(`grant${fault.at}`, fault.message);
}
