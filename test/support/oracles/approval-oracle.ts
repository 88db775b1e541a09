import type {
  ApprovalRequirement,
  ApproverGroup,
} from '../../../src/governance/policies/approval/approval-requirement';

const RISKS = ['low', 'medium', 'high', 'critical'];
const MILLISECONDS: Readonly<Record<string, number>> = {
  W: 604_800_000,
  D: 86_400_000,
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
};

/** The combined requirement of policies, the oldest first, by the literal reading of the rule. */
export function combinedByRule(approvals: readonly (ApprovalRequirement | null)[]): ApprovalRequirement | null {
  const all = approvals.flatMap((approval) => approval ?? []);
  const [first] = all;
  if (first === undefined) return null;
  const groups: ApproverGroup[] = [];
  for (const group of all.flatMap(({ approvers }) => approvers)) {
    const index = groups.findIndex((other) => sameSet(other, group));
    const earlierGroup = groups[index];
    if (earlierGroup === undefined) groups.push(group);
    else
      groups[index] = {
        ...earlierGroup,
        ...group,
        subjects: earlierGroup.subjects,
        approvals: Math.max(earlierGroup.approvals, group.approvals),
      };
  }
  return {
    riskLevel: [...all].sort((a, b) => RISKS.indexOf(b.riskLevel) - RISKS.indexOf(a.riskLevel))[0]?.riskLevel ?? 'low',
    approvers: groups,
    decideWithin: shortest(all.map(({ decideWithin }) => decideWithin)),
    executeWithin: shortest(all.map(({ executeWithin }) => executeWithin)),
  };
}

function sameSet(left: ApproverGroup, right: ApproverGroup): boolean {
  const includesAll = (a: readonly string[], b: readonly string[]): boolean => b.every((text) => a.includes(text));
  return includesAll(left.subjects, right.subjects) && includesAll(right.subjects, left.subjects);
}

function shortest(durations: readonly string[]): string {
  return [...durations].sort((a, b) => millisecondsOf(a) - millisecondsOf(b))[0] ?? '';
}

function millisecondsOf(duration: string): number {
  return [...duration.matchAll(/(\d+)([WDHMS])/g)].reduce(
    (sum, [, digits, unit = '']) => sum + Number(digits) * (MILLISECONDS[unit] ?? 0),
    0,
  );
}
