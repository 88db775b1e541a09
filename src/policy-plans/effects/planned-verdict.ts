import type { ApprovalRequirement } from '../../policies/approval/approval-requirement';
import { combinedRequirement, isTooLarge } from '../../policies/approval/combined-requirement';
import type { PlannedVerdict } from './effect';
import type { PlannedMatch } from './planned-match';

export const NO_POLICY: PlannedVerdict = { effect: 'no_policy' };

/** A verdict as a text key; groups of approvers are compared as sets. */
export function verdictKey({ effect, approvers = [] }: PlannedVerdict): string {
  const groups = approvers.map(({ subjects, approvals }) => `${setKey(subjects)} ${approvals}`);
  return `${effect} ${groups.sort().join()}`;
}

/** Whether a requirement is covered by that of other policies of the same level. */
export function asksForNothingMore(approval: ApprovalRequirement, matched: readonly PlannedMatch[]): boolean {
  return approval.approvers.every(({ subjects, approvals }) =>
    matched.some(({ rules }) =>
      rules.approval?.approvers.some(
        (group) => group.approvals >= approvals && setKey(group.subjects) === setKey(subjects),
      ),
    ),
  );
}

/** Policies keep their lists, so the keys can be cached. */
const setKeys = new WeakMap<readonly string[], string>();

function setKey(subjects: readonly string[]): string {
  let key = setKeys.get(subjects);
  if (key === undefined) {
    key = JSON.stringify([...new Set(subjects)].sort());
    setKeys.set(subjects, key);
  }
  return key;
}

function requirementOf(policies: readonly PlannedMatch[]): ApprovalRequirement | null {
  const approvals = [...policies]
    .sort((left, right) => left.index - right.index)
    .flatMap(({ rules }) => rules.approval ?? []);
  const [first] = approvals;
  return first === undefined ? null : combinedRequirement(first, approvals.slice(1));
}

/** The verdict of policies of one level. A requirement too large to approve is a denial. */
export function verdictOf(policies: readonly PlannedMatch[]): PlannedVerdict {
  const requirement = requirementOf(policies);
  if (requirement === null) return { effect: policies[0]?.rules.effect === 'allow' ? 'allow' : 'deny' };
  return isTooLarge(requirement)
    ? { effect: 'deny' }
    : { effect: 'require_approval', approvers: requirement.approvers };
}
