import { type PolicyAgent, subjectOf, subjectText, textsOf } from '../patterns/subjects';
import { PRINCIPAL, sumOfApprovals, type ApproverGroup } from './approval-requirement';

/** The groups that one reviewer may approve for: indexes into the groups, in order. */
export type FillableGroups = readonly number[];

/**
 * The most approvals that can be counted when each reviewer counts for one group: a maximum matching, by augmenting
 * paths (Kuhn's algorithm; a group has one slot per required approval).
 */
export function filledApprovals(
  groups: readonly Pick<ApproverGroup, 'approvals'>[],
  reviewers: readonly FillableGroups[],
): number {
  /** The reviewers assigned to each group so far. */
  const assigned = groups.map((): number[] => []);
  /** Assigns a reviewer to a group, reassigning others if that makes room. False if that is impossible. */
  const place = (reviewer: number, visited: Set<number>): boolean =>
    (reviewers[reviewer] ?? []).some((group) => {
      const members = assigned[group];
      if (members === undefined || visited.has(group)) return false;
      visited.add(group);
      const hasRoom = members.length < (groups[group]?.approvals ?? 0);
      const at = hasRoom ? members.length : members.findIndex((member) => place(member, visited));
      if (at >= 0) members[at] = reviewer;
      return at >= 0;
    });
  return reviewers.filter((_, reviewer) => place(reviewer, new Set())).length;
}

/** Whether every group can be filled, each by different reviewers: nobody counts twice. */
export function areFilled(
  groups: readonly Pick<ApproverGroup, 'approvals'>[],
  reviewers: readonly FillableGroups[],
): boolean {
  return filledApprovals(groups, reviewers) === sumOfApprovals(groups);
}

/** Indexes of the groups that the agent can approve for, in order; empty for a reviewer that is not an agent. */
export function groupsOf(agent: PolicyAgent | null, groups: readonly ApproverGroup[]): number[] {
  return agent === null ? [] : new ApproverGroups(groups).groupsFor(agent);
}

/** Those of the groups that a review by one of their members fills: a signed one only with a signature. */
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
      ({ subjects }) => new Set(subjects.filter((subject) => subject !== PRINCIPAL).map(subjectText)),
    );
  }

  /** True if no machine can approve for any of them. */
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

/** A machine can only approve if it is named, or by `kind:machine`: roles, and `*`, mean people. */
function mayMeanMachine(text: string): boolean {
  return text === 'kind:machine' || (text.startsWith('agent:') && text !== 'agent:*');
}
