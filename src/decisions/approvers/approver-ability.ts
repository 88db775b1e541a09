import type { Agent } from '../../agents/agent.entity';
import { areFilled, type FillableGroups } from '../../policies/approval/reviewer-groups';
import { approvalsOf, fillableGroups, selfApproval } from '../decision-rules';
import type { Decision } from '../decision.entity';

/** Why an agent could not approve a decision, in the order in which they count. */
export const INABILITIES = ['proposer', 'suspended', 'reviewed', 'policy_denied'] as const;
export type Inability = (typeof INABILITIES)[number];

/** What is known of a decision without its free-form content. */
export type OpenDecision = Pick<
  Decision,
  'type' | 'proposedBy' | 'riskLevel' | 'status' | 'reviews' | 'expiresAt' | 'executionId' | 'approvers'
>;

/** What is asked besides the decision and the agent. */
export interface AbilityTerms {
  /** By the configuration. */
  readonly mayApproveOwn: boolean;
  /** Whether the agent that proposed the decision is: then nobody can approve it. */
  readonly isProposerSuspended: boolean;
  readonly isForbidden: () => boolean;
}

/** The first thing that keeps an agent of the approvers from approving; null when nothing does. */
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

/** Whether a decision would be approved if these approved it, too. @param able of each, the groups that it can fill. */
export function isFeasible(
  { approvers, requiredApprovals, reviews }: Pick<Decision, 'approvers' | 'requiredApprovals' | 'reviews'>,
  able: readonly FillableGroups[],
): boolean {
  if (approvers === null) return approvalsOf(reviews) + able.length >= requiredApprovals;
  return areFilled(approvers, [...fillableGroups(reviews), ...able]);
}
