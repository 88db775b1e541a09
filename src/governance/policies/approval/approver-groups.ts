import type { AgentKind } from '../../agents/agent-name';
import { parseSubject, type PolicyAgent, subjectOf } from '../patterns/subjects';
import { sumOfApprovals, type ApproverGroup, type Demand } from './approval-requirement';

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

/** Indexes of the groups that the agent can approve for, in order; empty for a reviewer that is not an agent. */
export function groupsOf(agent: PolicyAgent | null, groups: readonly ApproverGroup[]): number[] {
  return agent === null ? [] : new ApproverGroups(groups).of(agent);
}

/** Groups of approvers, compiled once to match many agents. */
export class ApproverGroups {
  private readonly groups: readonly MemberRule[];

  constructor(groups: readonly ApproverGroup[]) {
    this.groups = groups.map(({ subjects }) => new MemberRule(subjects));
  }

  /** True if no machine can approve for any of them. */
  get areOfPeople(): boolean {
    return this.groups.every(({ isOfPeople }) => isOfPeople);
  }

  /** Indexes of the groups that the agent can approve for, in order. */
  of(agent: PolicyAgent): number[] {
    return this.groups.flatMap((rule, index) => (rule.isMetBy(agent) ? [index] : []));
  }
}

/** A machine can only approve if it is named, or by `kind:machine`: roles, and `*`, mean people. */
class MemberRule {
  private isAnyPerson = false;
  private isAnyRole = false;
  private readonly roles = new Set<string>();
  /** Ids and names. */
  private readonly named = new Set<string>();
  private readonly kinds = new Set<AgentKind>();

  constructor(subjects: readonly string[]) {
    subjects.forEach((subject) => this.add(subject));
  }

  get isOfPeople(): boolean {
    return this.named.size === 0 && !this.kinds.has('machine');
  }

  isMetBy(agent: PolicyAgent): boolean {
    const { agentId, agentName, kind, roles } = subjectOf(agent);
    if (this.kinds.has(kind) || this.named.has(agentId) || this.named.has(agentName)) return true;
    if (kind !== 'human') return false;
    return this.isAnyPerson || (this.isAnyRole && roles.length > 0) || roles.some((role) => this.roles.has(role));
  }

  private add(subject: string): void {
    const pattern = parseSubject(subject);
    switch (pattern.kind) {
      case 'everyone':
      case 'anyAgent':
        this.isAnyPerson = true;
        break;
      case 'anyRole':
        this.isAnyRole = true;
        break;
      case 'role':
        this.roles.add(pattern.role);
        break;
      case 'agent':
        this.named.add(pattern.idOrName);
        break;
      case 'agentKind':
        this.kinds.add(pattern.agentKind);
        break;
      case 'other':
        break;
    }
  }
}
