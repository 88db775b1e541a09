import type { JsonObject } from '../../../core/json/json-value';
import { invalidField } from '../../../core/errors/domain-error';
import { addDuration } from '../../../core/values/duration';
import { canonicalJson } from '../../../ledger/chain/canonical-json';
import { sha256 } from '../../../ledger/chain/hash-chain';
import type { Agent } from '../../agents/agent.entity';
import {
  type ApprovalRequirement,
  excessOf,
  type GrantInput,
  type GrantAllowance,
  lengthOf,
} from '../../policies/approval/approval-requirement';
import { areFilled, fillableBy, groupsOf, withEscalationsOf } from '../../policies/approval/approver-groups';
import { matchesAsAllow } from '../../policies/patterns/resources';
import type { Decision, Review } from '../decision.entity';
import type { CountedReview } from '../reviewers';
import type { Grant } from './grant.entity';

/** Most grants that are examined for one request, the oldest first. */
const MAX_TRIED_GRANTS = 20;

/** An agent's request that a grant may cover, with its principal. */
export interface CoverageRequest extends Pick<
  Grant,
  'agentId' | 'action' | 'resourceType' | 'resourceId' | 'onBehalfOf'
> {
  readonly parameters: JsonObject;
}

/** Scope and duration of a grant. */
export type GrantTerms = Pick<Grant, 'resources' | 'parametersHash' | 'until' | 'uses'>;

/** A grant with the decision that gave it, and its reviewers. */
export interface GrantWithReviews {
  readonly grant: Grant;
  readonly decision: Decision;
  readonly reviewers: readonly CountedReview[];
}

/** Requirements that a grant must meet today. */
interface TodaysTerms {
  readonly requirement: ApprovalRequirement;
  /** ISO 8601. */
  readonly now: string;
  /** True if a policy now denies the agent to approve this. */
  readonly isForbidden: (reviewer: Agent) => boolean;
}

export function parametersHashOf(parameters: JsonObject): string {
  return sha256(canonicalJson(parameters));
}

/** Returns the terms of a grant, from the input that all its reviewers gave. */
export function termsOf(
  input: GrantInput,
  { uses }: GrantAllowance,
  { parameters }: Pick<CoverageRequest, 'parameters'>,
  now: string,
): GrantTerms {
  return {
    resources: input.resources,
    parametersHash: input.parameters === 'any' ? null : parametersHashOf(parameters),
    until: addDuration(input.for, now),
    uses: input.uses ?? uses,
  };
}

/**
 * Returns the candidates that cover the request and have not expired, the oldest first.
 * @param candidates candidates, the oldest first
 * @param hash hash of the request's parameters, by {@link parametersHashOf}
 */
export function coveringGrants<Candidate extends { readonly grant: Grant }>(
  candidates: readonly Candidate[],
  request: CoverageRequest,
  hash: string,
  now: string,
): Candidate[] {
  return candidates.filter(({ grant }) => grant.until > now && meets(grant, request, hash)).slice(0, MAX_TRIED_GRANTS);
}

function meets(grant: Grant, request: CoverageRequest, hash: string): boolean {
  const { agentId, action, resourceType, resourceId, onBehalfOf } = request;
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

/** True if the grant's reviewers could give it today; the number of uses left does not count. */
export function holds({ grant, decision, reviewers }: GrantWithReviews, terms: TodaysTerms): boolean {
  const { now, isForbidden } = terms;
  const { grant: allowed } = terms.requirement;
  const approvers = withEscalationsOf(terms.requirement.approvers, decision.approvers ?? []);
  // A grant made with a rejection is its reviewer's own choice, so no policy has to allow it.
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

/** True if the grant covers more than the requested action. */
export function isWider({ resources, parametersHash }: Pick<Grant, 'resources' | 'parametersHash'>): boolean {
  return resources !== null || parametersHash === null;
}

/** Returns the reviews that gave the grant: the approvals, or the rejection with its alternative. */
export function givingReviews({ reviews }: Pick<Decision, 'reviews'>): readonly Review[] {
  const rejection = reviews.filter(({ verdict }) => verdict === 'reject');
  return rejection.length > 0 ? rejection : reviews;
}

/**
 * Checks a grant's input.
 * @param request requested action of the decision; null if it is about none, or was erased
 * @throws VALIDATION_ERROR if a grant exceeds what the decision allows, or does not cover the requested resource
 */
export function requireGrantable(
  input: GrantInput,
  decision: Decision,
  request: Pick<CoverageRequest, 'resourceType' | 'resourceId'> | null,
): void {
  const isUncovered = request !== null && input.resources !== null && !matchesAsAllow(input.resources, request);
  const uncovered = isUncovered
    ? { at: '.resources', message: `must cover the requested resource: ${request.resourceType} ${request.resourceId}` }
    : undefined;
  const fault = excessOf(input, decision.grant) ?? uncovered;
  if (fault !== undefined) throw invalidField(`grant${fault.at}`, fault.message);
}
