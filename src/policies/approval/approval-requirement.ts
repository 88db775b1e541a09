import type { RiskLevel } from '../../config/configuration';
import { areEqualSets } from './reviewer-groups';

/** Who may give some of the approvals that are needed. */
export interface ApproverGroup {
  /** As in a policy; where they name no kind, they mean people. */
  readonly subjects: readonly string[];
  /** By different reviewers. */
  readonly approvals: number;
}

/** What has to be approved before an action may go on, combined from all policies that ask for it. */
export interface ApprovalRequirement {
  readonly riskLevel: RiskLevel;
  /** All of them are needed, each by different reviewers. */
  readonly approvers: readonly ApproverGroup[];
  /** Durations after ISO 8601: of the decision, and of the approval once it is given. */
  readonly decideWithin: string;
  readonly executeWithin: string;
}

/** The approvals in words: "1 of role:security and 2 of role:finance". */
export function wantedApprovals(groups: readonly ApproverGroup[]): string {
  return groups.map(({ subjects, approvals }) => `${approvals} of ${subjects.join(', ')}`).join(' and ');
}

/** Whether two requirements ask for the same: the same sets of subjects with the same numbers, in any order. */
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
