/** A group that needs this many approvals by different reviewers. */
export interface Demand {
  readonly approvals: number;
}

/** The groups that one reviewer may approve for: indexes into the groups, in order. */
export type FillableGroups = readonly number[];

/**
 * The most approvals that can be counted when each reviewer counts for one group: a maximum matching, by augmenting
 * paths (Kuhn's algorithm; a group has one slot per required approval).
 */
export function filledApprovals(groups: readonly Demand[], reviewers: readonly FillableGroups[]): number {
  const matching = new Matching(groups, reviewers);
  return reviewers.filter((_, reviewer) => matching.add(reviewer)).length;
}

/** Whether every group can be filled, each by different reviewers: nobody counts twice. */
export function areFilled(groups: readonly Demand[], reviewers: readonly FillableGroups[]): boolean {
  return filledApprovals(groups, reviewers) === sumOfApprovals(groups);
}

export function sumOfApprovals(groups: readonly Demand[]): number {
  return groups.reduce((sum, { approvals }) => sum + approvals, 0);
}

/** Whether two lists of subjects are the same set. */
export function areEqualSets(left: readonly string[], right: readonly string[]): boolean {
  const [a, b] = [new Set(left), new Set(right)];
  return a.size === b.size && left.every((text) => b.has(text));
}

class Matching {
  /** The reviewers assigned to each group so far. */
  private readonly members: number[][];
  /** Groups in which no search can find room any more. */
  private full: ReadonlySet<number> = new Set();

  constructor(
    private readonly groups: readonly Demand[],
    private readonly reviewers: readonly FillableGroups[],
  ) {
    this.members = groups.map(() => []);
  }

  /** Assigns the reviewer to a group, reassigning others if that makes room. False if that is impossible. */
  add(reviewer: number): boolean {
    const visited = new Set(this.full);
    const isPlaced = this.place(reviewer, visited);
    // What a failed search has visited cannot help later searches either.
    if (!isPlaced) this.full = visited;
    return isPlaced;
  }

  private place(reviewer: number, visited: Set<number>): boolean {
    for (const group of this.reviewers[reviewer] ?? []) {
      const members = this.members[group];
      if (members === undefined || visited.has(group)) continue;
      visited.add(group);
      if (members.length < (this.groups[group]?.approvals ?? 0)) {
        members.push(reviewer);
        return true;
      }
      const moved = members.findIndex((member) => this.place(member, visited));
      if (moved === -1) continue;
      members[moved] = reviewer;
      return true;
    }
    return false;
  }
}
