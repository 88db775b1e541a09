import type { Agent } from '../agents/agent.entity';
import { groupsOf } from '../policies/approval/approver-groups';
import { wantedApprovals, type ApproverGroup } from '../policies/approval/approval-requirement';
import { areEqualSets, areFilled, type FillableGroups } from '../policies/approval/reviewer-groups';
import { permissionDenied, type DomainError } from '../errors/domain-error';

/** One who approved: as the agent is now, and the groups of the decision that it could fill then. */
export interface Approval {
  readonly approver: Agent;
  readonly groups: readonly number[];
}

/**
 * Why an approval does not serve what the policies require today; null when it does. A group that the decision named, too, is
 * held against what was given then; any other against the approvers as they are now. Nobody who is suspended counts.
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
    `The approval given is not the one that the policies in force require: ${wantedApprovals(required)}. Ask for the action again.`,
  );
}

/** @param named of each required group, its index in the decision; -1 for one that the decision did not name. */
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
