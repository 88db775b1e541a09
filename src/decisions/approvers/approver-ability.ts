import type { Agent } from '../../agents/agent.entity';
import { areFilled, type FillableGroups } from '../../policies/approval/reviewer-groups';
import { approvalsOf, fillableGroups, selfApproval } from '../decision-rules';
import type { Decision } from '../decision.entity';

/** Why an agent could not approve a decision, in order of precedence. */
export const INABILITIES = ['proposer', 'suspended', 'reviewed', 'policy_denied'] as const;
export type Inability = (typeof INABILITIES)[number];

/** A decision without its free-form content. */
export type OpenDecision = Pick<
  Decision,
  'type' | 'proposedBy' | 'riskLevel' | 'status' | 'reviews' | 'expiresAt' | 'executionId' | 'approvers'
>;

/** What else the check depends on. */
export interface AbilityTerms {
  /** From the configuration. */
  readonly mayApproveOwn: boolean;
  /** Whether the agent that proposed the decision is suspended: then nobody can approve it. */
  readonly isProposerSuspended: boolean;
  readonly isForbidden: () => boolean;
}

/** The first reason why an eligible agent cannot approve; null if there is none. */
export function inability(
  decision: OpenDecision,
  { id, status }: Pick<Agent, 'id' | 'status'>,
  { mayApproveOwn, isProposerSuspended, isForbidden }: AbilityTerms,
): Inability | null {
  if (selfApproval(decision, 'approve', id, mayApproveOwn) !== null) return 'proposer';
  if (status !== 'active' || isProposerSuspended) return 'suspended';
  if (decision.reviews.some(({ approverId }) => approverId === id)) return 'reviewed';
  return isForbidden() ? 'policy_denied' : null;
}

/**
 * Whether a decision would be approved if these agents approved it as well.
 * @param able for each agent, the groups it can approve for.
 */
export function isFeasible(
  { approvers, requiredApprovals, reviews }: Pick<Decision, 'approvers' | 'requiredApprovals' | 'reviews'>,
  able: readonly FillableGroups[],
): boolean {
  if (approvers === null) return approvalsOf(reviews) + able.length >= requiredApprovals;
  return areFilled(approvers, [...fillableGroups(reviews), ...able]);
}
