import type { Agent } from '../agents/agent.entity';
import { groupsOf } from '../policies/approval/approver-groups';
import { wantedApprovals, type ApproverGroup } from '../policies/approval/approval-requirement';
import { areEqualSets, areFilled, type FillableGroups } from '../policies/approval/reviewer-groups';
import { permissionDenied, type DomainError } from '../errors/domain-error';

/**
 * A reviewer who approved: the agent as it is now, and the groups of the decision that it could approve for at the
 * time.
 */
export interface Approval {
  readonly approver: Agent;
  readonly groups: readonly number[];
}

/**
 * Why an approval does not meet what the policies require now; null if it does. For a group that the decision named as
 * well, the approvals given then count; for any other, the approvers are matched as they are now. Suspended agents do
 * not count.
 */
export function approvalFault(
  required: readonly ApproverGroup[],
  decided: readonly ApproverGroup[],
  approvals: readonly Approval[],
): DomainError | null {
  const named = required.map(({ subjects }) => decided.findIndex((group) => areEqualSets(group.subjects, subjects)));
  const counting = approvals.filter(({ approver }) => approver.status === 'active');
  const fillable = counting.map((approval) => fillableBy(approval, required, named));
  if (areFilled(required, fillable)) return null;
  return permissionDenied(
    'approval_insufficient',
    `The approval given is not the one that the policies in force require: ${wantedApprovals(required)}. Request the action again.`,
  );
}

/** @param named for each required group, its index in the decision; -1 if the decision did not name it. */
function fillableBy(
  { approver, groups }: Approval,
  required: readonly ApproverGroup[],
  named: readonly number[],
): FillableGroups {
  const now = groupsOf(approver, required);
  return required.flatMap((_, index) => {
    const then = named[index] ?? -1;
    const isMet = then === -1 ? now.includes(index) : groups.includes(then);
    return isMet ? [index] : [];
  });
}
