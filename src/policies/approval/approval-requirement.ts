import type { RiskLevel } from '../../config/configuration';
import { areEqualSets } from './reviewer-groups';

/** The reviewers who may give some of the required approvals. */
export interface ApproverGroup {
  /** As in a policy; subjects that name no kind mean people. */
  readonly subjects: readonly string[];
  /** Number of approvals, by different reviewers. */
  readonly approvals: number;
}

/** What has to be approved before an action may proceed, combined from all policies that require it. */
export interface ApprovalRequirement {
  readonly riskLevel: RiskLevel;
  /** All of them are required, each by different reviewers. */
  readonly approvers: readonly ApproverGroup[];
  /** ISO 8601 durations: for the decision, and for executing once it is approved. */
  readonly decideWithin: string;
  readonly executeWithin: string;
}

/** The approvals in words: "1 of role:security and 2 of role:finance". */
export function wantedApprovals(groups: readonly ApproverGroup[]): string {
  return groups.map(({ subjects, approvals }) => `${approvals} of ${subjects.join(', ')}`).join(' and ');
}

/** Whether two requirements are the same: the same sets of subjects with the same numbers, in any order. */
export function areSameApprovers(left: readonly ApproverGroup[], right: readonly ApproverGroup[]): boolean {
  if (left.length !== right.length) return false;
  const open = [...right];
  return left.every((group) => {
    const index = open.findIndex((other) => isSameGroup(group, other));
    if (index === -1) return false;
    open.splice(index, 1);
    return true;
  });
}

function isSameGroup(left: ApproverGroup, right: ApproverGroup): boolean {
  return left.approvals === right.approvals && areEqualSets(left.subjects, right.subjects);
}
