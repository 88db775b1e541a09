import { type PolicyAgent, subjectOf, subjectText, textsOf } from '../patterns/subjects';
import { areEqualSets, currentSubjects, PRINCIPAL, sumOfApprovals, type ApproverGroup } from './approval-requirement';

/** Indexes, in order, of the groups that one reviewer may approve for. */
export type FillableGroups = readonly number[];

/**
 * Counts the most approvals if each reviewer counts for one group: a maximum matching, by augmenting paths (Kuhn's
 * algorithm; a group has one slot per required approval).
 */
export function filledApprovals(
  groups: readonly Pick<ApproverGroup, 'approvals'>[],
  reviewers: readonly FillableGroups[],
): number {
  /** Reviewers assigned to each group so far. */
  const assigned = groups.map((): number[] => []);
  /** Assigns a reviewer to a group, reassigning others if that makes room. False if that is impossible. */
  const assign = (reviewer: number, visited: Set<number>): boolean =>
    (reviewers[reviewer] ?? []).some((group) => {
      const members = assigned[group];
      if (members === undefined || visited.has(group)) return false;
      visited.add(group);
      const hasRoom = members.length < (groups[group]?.approvals ?? 0);
      const at = hasRoom ? members.length : members.findIndex((member) => assign(member, visited));
      if (at >= 0) members[at] = reviewer;
      return at >= 0;
    });
  return reviewers.filter((_, reviewer) => assign(reviewer, new Set())).length;
}

/** True if every group can be filled by different reviewers: nobody counts twice. */
export function areFilled(
  groups: readonly Pick<ApproverGroup, 'approvals'>[],
  reviewers: readonly FillableGroups[],
): boolean {
  return filledApprovals(groups, reviewers) === sumOfApprovals(groups);
}

/**
 * Returns the groups that one more approval would help to fill. @param reviewers groups that each approval may count
 * for
 */
export function shortGroups(groups: readonly ApproverGroup[], reviewers: readonly FillableGroups[]): number[] {
  const filled = filledApprovals(groups, reviewers);
  return groups.flatMap((_, index) => (filledApprovals(groups, [...reviewers, [index]]) > filled ? [index] : []));
}

/** Indexes of the groups that the agent can approve for, in order; empty for a reviewer that is not an agent. */
export function groupsOf(agent: PolicyAgent | null, groups: readonly ApproverGroup[]): number[] {
  return agent === null ? [] : new ApproverGroups(groups).groupsFor(agent);
}

/**
 * Adds to groups the escalations that took effect in a decision for groups with the same subjects, so that their
 * approvers continue to count.
 */
export function withEscalationsOf(
  groups: readonly ApproverGroup[],
  decided: readonly ApproverGroup[],
): ApproverGroup[] {
  return groups.map((group) => {
    const { escalate, signed, subjects } = group;
    const same = decided.find((other) => other.signed === signed && areEqualSets(other.subjects, subjects));
    const at = same?.escalate?.at;
    return at === undefined || escalate === undefined ? group : { ...group, escalate: { ...escalate, at } };
  });
}

/** Returns the groups that a review by one of their members fills: a signed one only with a signature. */
export function fillableBy(
  isSigned: boolean,
  matched: FillableGroups,
  groups: readonly ApproverGroup[],
): FillableGroups {
  return isSigned ? matched : matched.filter((index) => groups[index]?.signed !== true);
}

/** Groups of approvers, compiled once to match many agents. */
export class ApproverGroups {
  private readonly groups: readonly ReadonlySet<string>[];

  constructor(groups: readonly ApproverGroup[]) {
    this.groups = groups.map(
      (group) =>
        new Set(
          currentSubjects(group)
            .filter((subject) => subject !== PRINCIPAL)
            .map(subjectText),
        ),
    );
  }

  /** True if no machine can approve for any of the groups. */
  get areOfPeople(): boolean {
    return !this.groups.some((subjects) => [...subjects].some(mayMeanMachine));
  }

  /** Indexes of the groups that the agent can approve for, in order. */
  groupsFor(agent: PolicyAgent): number[] {
    const texts = ['*', ...textsOf(subjectOf(agent))];
    const counted = agent.kind === 'human' ? texts : texts.filter(mayMeanMachine);
    return this.groups.flatMap((subjects, index) => (counted.some((text) => subjects.has(text)) ? [index] : []));
  }
}

/** True if the text can mean a machine: only its name or `kind:machine` can; roles, and `*`, mean people. */
function mayMeanMachine(text: string): boolean {
  return text === 'kind:machine' || (text.startsWith('agent:') && text !== 'agent:*');
}
