import { suspension } from '../agents/find-agent';
import type { Agent } from '../agents/agent.entity';
import { conflict, permissionDenied, type DomainError, type RejectionWords } from '../../core/errors/domain-error';
import { addDuration } from '../../core/values/duration';
import { labelFault } from '../../core/values/label-fault';
import { wantedApprovals } from '../policies/approval/approval-requirement';
import { CHANGE_TYPES, isAboutChange, isChangeReview, mayDecide } from './changes/change';
import { areFilled, type FillableGroups, shortGroups } from '../policies/approval/approver-groups';
import { type Decision, type DecisionStatus, type Review, type Verdict, withEscalationTime } from './decision.entity';
import { normalFormC } from '../../core/values/normal-form';

/** True from `expiresAt` on, for a decision that was not settled before. */
export function isExpired({ status, expiresAt }: Pick<Decision, 'status' | 'expiresAt'>, now: string): boolean {
  return status === 'proposed' && expiresAt !== null && expiresAt <= now;
}

/** Returns why a review conflicts with the state of the decision, or with an earlier review; null if it does not. */
export function reviewConflict(
  decision: Decision,
  { approverId, placeId }: ReviewedPlace,
  delegators: Delegators,
): DomainError | null {
  const settled = finalityConflict(decision);
  if (settled !== null || approverId === null) return settled;
  if (decision.reviews.some((review) => review.approverId === approverId))
    return conflict(`The agent ${approverId} has reviewed this decision already; each approver reviews once.`);
  if (decision.reviews.some((review) => placeOf(review, delegators) === placeId))
    return conflict(`This decision was reviewed already in the place of the agent ${placeId}; each place counts once.`);
  return null;
}

/** Maps delegations to the ids of the people who made them. */
export type Delegators = ReadonlyMap<string, string>;

/**
 * Reviewer and place: the reviewer's own place, unless by a delegation. `approverId` is null for the holder of the API
 * key.
 */
export interface ReviewedPlace {
  readonly approverId: string | null;
  readonly placeId: string | null;
}

/** True if a review was made by the same agent, or in the same place. */
export function isReviewed(
  { reviews }: Pick<Decision, 'reviews'>,
  { approverId, placeId }: ReviewedPlace,
  delegators: Delegators,
): boolean {
  return reviews.some((review) => review.approverId === approverId || placeOf(review, delegators) === placeId);
}

/** Returns the id of the agent in whose place a review was made; null if the holder of the API key made it. */
export function placeOf({ approverId, delegationId }: Review, delegators: Delegators): string | null {
  return delegationId === undefined ? approverId : (delegators.get(delegationId) ?? null);
}

/** Refuses a review in another's place of what the reviewer proposed, or of an action on the reviewer's behalf. */
export function substituteFault(
  { proposedBy, onBehalfOf }: Pick<Decision, 'proposedBy' | 'onBehalfOf'>,
  approverId: string,
): DomainError | null {
  if (approverId !== proposedBy && onBehalfOf?.subject !== `agent:${approverId}`) return null;
  const message = 'Nobody reviews in the place of another person what they proposed, or what is done on their behalf.';
  return permissionDenied('self_approval', message);
}

/**
 * Refuses an agent's approval of its own proposal, which it may reject.
 * @param mayApproveOwn configured value; it never applies to decisions about executions and changes
 */
export function selfApproval(
  decision: Pick<Decision, 'proposedBy' | 'executionId' | 'change'>,
  verdict: Verdict,
  approverId: string,
  mayApproveOwn: boolean,
): DomainError | null {
  if (verdict === 'reject' || approverId !== decision.proposedBy) return null;
  const mayBeOwn = decision.executionId === null && !isAboutChange(decision);
  if (mayApproveOwn && mayBeOwn) return null;
  const remedy = mayBeOwn ? ' ALLOW_SELF_APPROVAL=true would allow it.' : '';
  return permissionDenied(
    'self_approval',
    `The proposer of a decision cannot approve it; another agent has to.${remedy}`,
  );
}

/** Facts about a review as of the moment when it was sent. */
export interface ReviewSource {
  /** Times of the emergencies without a review. */
  readonly emergencies: ReadonlySet<string>;
  /** Time at which the key was made that sent it; null if a token did, or the operator's key. */
  readonly keyCreatedAt: string | null;
}

/** Refuses whoever may not decide on a change, and keys and people that come from an emergency without a review. */
export function deciderFault(
  decision: Decision,
  verdict: Verdict,
  decider: Agent,
  { emergencies, keyCreatedAt }: ReviewSource,
): DomainError | null {
  if (!isAboutChange(decision)) return null;
  // Agents may withdraw their own proposal, but must not close the review of their own emergency.
  if (verdict === 'reject' && decider.id === decision.proposedBy && !isChangeReview(decision)) return null;
  if (!mayDecide(decision, decider, emergencies))
    return permissionDenied(
      'not_an_approver',
      'Only a person decides on a change, and what was done in an emergency is reviewed by somebody else who was registered before.',
    );
  if (keyCreatedAt === null || !emergencies.has(keyCreatedAt)) return null;
  return permissionDenied(
    'not_an_approver',
    'This key was made in an emergency that nobody has reviewed yet. Until then, it decides on no change.',
  );
}

/**
 * Returns the refusal of a reviewer who belongs to no group of approvers; null for a member of a group, and if the
 * decision names no approvers. The proposer may always reject.
 * @param groups indexes of the groups that the reviewer can approve for; null if the decision names none
 */
export function approverFault(
  decision: Decision,
  verdict: Verdict,
  approver: Agent,
  groups: readonly number[] | null,
): DomainError | null {
  if (decision.approvers === null || groups === null || groups.length > 0) return null;
  if (verdict === 'reject' && approver.id === decision.proposedBy) return null;
  return permissionDenied(
    'not_an_approver',
    `The agent "${approver.name}" is not one of the approvers of this decision: it needs ${wantedApprovals(decision.approvers)}.` +
      (approver.kind === 'machine' ? ' Machines never count, unless they are named.' : ''),
  );
}

/** Refuses to approve a proposal of a suspended agent, which waits until the agent is resumed; it can be rejected. */
export function proposerSuspension(verdict: Verdict, proposer: Agent | undefined): DomainError | null {
  if (verdict === 'reject' || proposer === undefined || suspension(proposer) === null) return null;
  return permissionDenied(
    'agent_suspended',
    `The agent "${proposer.name}", which proposed this decision, is suspended. Resume it first, or reject the decision.`,
  );
}

/** Returns the fault of a decision's type, which policies name as part of a path; undefined if it is valid. */
export function decisionTypeFault(type: string): string | undefined {
  // Policies compare in normal form C, in which U+037E, the Greek question mark, is ";".
  if (CHANGE_TYPES.includes(type)) return `must not be "${type}": only the service makes such decisions`;
  return normalFormC(type).includes(';') ? 'must not contain ";"' : labelFault(type);
}

/**
 * Returns the decision after a review: a single rejection rejects, the last required approval approves. The review of
 * an emergency needs as many people to reject as to approve.
 */
export function withReview(decision: Decision, review: Review): Decision {
  const reviews = [...decision.reviews, review];
  const status = statusAfter(decision, reviews);
  const resolvedAt = status === 'proposed' ? null : review.createdAt;
  return withEscalationTime({ ...decision, reviews, status, resolvedAt, updatedAt: review.createdAt });
}

export function withStatus(decision: Decision, status: 'expired' | 'cancelled', now: string): Decision {
  return withEscalationTime({ ...decision, status, updatedAt: now, resolvedAt: now });
}

/**
 * Returns the indexes of the groups that escalate now because they were not filled in time. Empty if none does, or if
 * no group can be filled any more.
 */
export function escalatingGroups(decision: Decision, now: string): number[] {
  const { approvers, createdAt, escalatesAt } = decision;
  if (approvers === null || escalatesAt === null || escalatesAt > now) return [];
  return shortGroups(approvers, fillableGroups(decision)).filter((index) => {
    const escalate = approvers[index]?.escalate;
    return escalate !== undefined && escalate.at === undefined && addDuration(escalate.after, createdAt) <= now;
  });
}

/** Returns the decision after escalations, whose people may now fill the groups as well. */
export function withEscalation(decision: Decision, indexes: readonly number[], now: string): Decision {
  const approvers = (decision.approvers ?? []).map((group, index) =>
    group.escalate !== undefined && indexes.includes(index)
      ? { ...group, escalate: { ...group.escalate, at: now } }
      : group,
  );
  return withEscalationTime({ ...decision, approvers, updatedAt: now });
}

export function isDecisionOpen({ status }: Pick<Decision, 'status'>): boolean {
  return status === 'proposed';
}

/** True if some of the approvals must be signed. */
export function hasSignedGroup({ approvers }: Pick<Decision, 'approvers'>): boolean {
  return approvers?.some(({ signed }) => signed === true) === true;
}

/** Returns the end, in ISO 8601, of the time in which a rejection is binding: at most a day. */
export function rejectionEnd({ resolvedAt, createdAt, expiresAt }: Decision): string {
  const dayLater = addDuration('P1D', resolvedAt ?? createdAt);
  return expiresAt !== null && expiresAt < dayLater ? expiresAt : dayLater;
}

/**
 * Returns the comment and alternative of the rejecting reviewer; null unless the decision is rejected. @param instead
 * alternative stored with its execution
 */
export function rejectionWords(
  { reviews }: Pick<Decision, 'reviews'>,
  instead: RejectionWords['instead'],
): RejectionWords | null {
  const rejection = reviews.find(({ verdict }) => verdict === 'reject');
  return rejection === undefined ? null : { comment: rejection.comment, instead };
}

/** Returns why a decision can no longer be settled; null if it can. */
export function finalityConflict({ status }: Decision): DomainError | null {
  return status === 'proposed' ? null : conflict(`The decision is ${status} already; that is final.`);
}

/** Returns the number of approvals that are assigned to each group of approvers. */
export function givenApprovals(decision: ReviewedDecision & Pick<Decision, 'approvers'>): number[] {
  const approvals = fillableGroups(decision);
  return (decision.approvers ?? []).map((_, index) => approvals.filter((groups) => groups.includes(index)).length);
}

export function isApproval({ verdict }: Review): boolean {
  return verdict === 'approve';
}

export function approvalsOf(reviews: readonly Review[]): number {
  return reviews.filter(isApproval).length;
}

function statusAfter(decision: Decision, reviews: readonly Review[]): DecisionStatus {
  const isRejected = reviews.some(({ verdict }) => verdict === 'reject');
  if (isRejected && !isChangeReview(decision)) return 'rejected';
  if (!areEnough(decision, fillableGroups({ ...decision, reviews }))) return 'proposed';
  return isRejected ? 'rejected' : 'approved';
}

/** True if these approvals are enough. @param approvals groups that each approval may count for */
export function areEnough(
  { approvers, requiredApprovals }: Pick<Decision, 'approvers' | 'requiredApprovals'>,
  approvals: readonly FillableGroups[],
): boolean {
  return approvers === null ? approvals.length >= requiredApprovals : areFilled(approvers, approvals);
}

type ReviewedDecision = Pick<Decision, 'type' | 'change' | 'reviews'>;

/**
 * Returns, for each approval, the groups that it may count for. For an emergency, every review counts: nobody settles
 * it alone, not even by a rejection, because whoever broke the glass may be the one who rejects.
 */
export function fillableGroups({ reviews, ...decision }: ReviewedDecision): FillableGroups[] {
  return reviews.filter((review) => isApproval(review) || isChangeReview(decision)).map(({ groups = [] }) => groups);
}

/**
 * Returns the resource that a policy names to forbid an approver: `decisions/<riskLevel>/<type>`. The type is one
 * segment: each `/` in it becomes `_`, and so do the types `.` and `..`.
 */
export function decisionResource({ riskLevel, type }: Pick<Decision, 'riskLevel' | 'type'>): string {
  const segment = type === '.' || type === '..' ? '_' : type.replaceAll('/', '_');
  return `decisions/${riskLevel}/${segment}`;
}
