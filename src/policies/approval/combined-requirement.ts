import { RISK_LEVELS } from '../../config/configuration';
import { parseDuration } from '../../shared/duration';
import type { ApprovalRequirement, ApproverGroup } from './approval-requirement';
import { sumOfApprovals } from './reviewer-groups';

const MOST_GROUPS = 50;
const MOST_APPROVALS = 200;

/** Keys of lists of subjects, compared as sets: policies keep their lists as long as they are in force. */
const setKeys = new WeakMap<readonly string[], string>();

/**
 * Combines the requirements of several policies, the oldest first: all their groups in order, where groups with the
 * same set of subjects are merged into the first one with the larger number; the highest risk; the shortest durations.
 * One that {@link isTooLarge} may be incomplete.
 */
export function combinedRequirement(
  first: ApprovalRequirement,
  others: readonly ApprovalRequirement[],
): ApprovalRequirement {
  const groups = new Map<string, ApproverGroup>();
  let { riskLevel, decideWithin, executeWithin } = first;
  let approvals = 0;
  for (const requirement of [first, ...others]) {
    for (const group of requirement.approvers) {
      const key = setKeyOf(group.subjects);
      const known = groups.get(key);
      if (known !== undefined && known.approvals >= group.approvals) continue;
      approvals += group.approvals - (known?.approvals ?? 0);
      groups.set(key, { subjects: known?.subjects ?? group.subjects, approvals: group.approvals });
    }
    // Further requirements could only make it larger.
    if (groups.size > MOST_GROUPS || approvals > MOST_APPROVALS) break;
    if (RISK_LEVELS.indexOf(requirement.riskLevel) > RISK_LEVELS.indexOf(riskLevel)) riskLevel = requirement.riskLevel;
    decideWithin = shorter(decideWithin, requirement.decideWithin);
    executeWithin = shorter(executeWithin, requirement.executeWithin);
  }
  return { riskLevel, approvers: [...groups.values()], decideWithin, executeWithin };
}

/** Whether it requires more than one decision can hold. */
export function isTooLarge({ approvers }: ApprovalRequirement): boolean {
  return approvers.length > MOST_GROUPS || sumOfApprovals(approvers) > MOST_APPROVALS;
}

/** If both are equally long, the first keeps its text. */
function shorter(left: string, right: string): string {
  return left !== right && lengthOf(right) < lengthOf(left) ? right : left;
}

function lengthOf(duration: string): number {
  return parseDuration(duration) ?? Infinity;
}

function setKeyOf(subjects: readonly string[]): string {
  const known = setKeys.get(subjects);
  if (known !== undefined) return known;
  const key = JSON.stringify([...new Set(subjects)].sort());
  setKeys.set(subjects, key);
  return key;
}
