import { suspension } from '../agents/agent-reference';
import type { Agent } from '../agents/agent.entity';
import { conflict, permissionDenied, type DomainError } from '../errors/domain-error';
import { labelFault } from '../text/label-fault';
import type { Decision, DecisionStatus, Review, Verdict } from './decision.entity';

/** True from the moment of `expiresAt` on, for a decision that nobody settled before. */
export function isExpired({ status, expiresAt }: Decision, now: string): boolean {
  return status === 'proposed' && expiresAt !== null && expiresAt <= now;
}

/** Why a decision cannot be reviewed as it stands, whoever asks; null when it can. */
export function reviewConflict(decision: Decision, approverId: string | null): DomainError | null {
  if (decision.status !== 'proposed') {
    return conflict(`The decision is ${decision.status} already, which is final.`);
  }
  if (approverId !== null && decision.reviews.some((review) => review.approverId === approverId)) {
    return conflict(`The agent ${approverId} has reviewed this decision already; each approver reviews once.`);
  }
  return null;
}

/** Proposing and approving take two; withdrawing one's own proposal does not. */
export function selfApproval(decision: Decision, verdict: Verdict, approverId: string | null): DomainError | null {
  if (verdict === 'reject' || approverId !== decision.proposedBy) return null;
  return permissionDenied(
    'self_approval',
    'The proposer of a decision cannot approve it; another agent has to. ALLOW_SELF_APPROVAL=true would allow it.',
  );
}

/** What a suspended agent proposed waits until somebody resumes it; it can be rejected. */
export function proposerSuspension(verdict: Verdict, proposer: Agent | undefined): DomainError | null {
  if (verdict === 'reject' || proposer === undefined || suspension(proposer) === null) return null;
  return permissionDenied(
    'agent_suspended',
    `The agent "${proposer.name}", which proposed this decision, is suspended. Resume it first, or reject the decision.`,
  );
}

/** Says what the type of a decision would have to be, or undefined when it is one: policies name it as part of a path. */
export function decisionTypeFault(type: string): string | undefined {
  return type.includes(';') ? 'must not contain ";"' : labelFault(type);
}

/** The decision after a review: one rejection rejects, the last needed approval approves. */
export function reviewed(decision: Decision, review: Review): Decision {
  const reviews = [...decision.reviews, review];
  const status = statusAfter(reviews, decision.requiredApprovals);
  const resolvedAt = status === 'proposed' ? null : review.createdAt;
  return { ...decision, reviews, status, resolvedAt, updatedAt: review.createdAt };
}

export function expired(decision: Decision, now: string): Decision {
  return { ...decision, status: 'expired', updatedAt: now, resolvedAt: now };
}

export function approvalsOf(reviews: readonly Review[]): number {
  return reviews.filter(({ verdict }) => verdict === 'approve').length;
}

function statusAfter(reviews: readonly Review[], requiredApprovals: number): DecisionStatus {
  if (reviews.some(({ verdict }) => verdict === 'reject')) return 'rejected';
  return approvalsOf(reviews) >= requiredApprovals ? 'approved' : 'proposed';
}

/**
 * The resource a policy names to forbid an approver: `decisions/<riskLevel>/<type>`. The type is one segment of it: each
 * `/` in it counts as `_`, and so do a type `.` and a type `..`.
 */
export function decisionResource({ riskLevel, type }: Pick<Decision, 'riskLevel' | 'type'>): string {
  const segment = type === '.' || type === '..' ? '_' : type.replaceAll('/', '_');
  return `decisions/${riskLevel}/${segment}`;
}
