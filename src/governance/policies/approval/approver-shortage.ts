import type { PolicyAgent } from '../patterns/subjects';
import { PRINCIPAL, sumOfApprovals, type ApproverGroup } from './approval-requirement';
import { ApproverGroups, fillableBy, type FillableGroups, filledApprovals } from './approver-groups';

/** Counts how many approvals of a policy different agents could give, each for one group. */
export class ApproverShortage {
  readonly needed: number;
  private filled = 0;
  private readonly members: ApproverGroups;
  /** The groups that only the principal of a request, some person, may have to fill. */
  private readonly ofPrincipal: FillableGroups;
  /** Agents that fill the same groups count alike: of each set at most as many as there are approvals. */
  private readonly counts = new Map<string, number>();
  private readonly reviewers: FillableGroups[] = [];

  constructor(private readonly groups: readonly ApproverGroup[]) {
    this.needed = sumOfApprovals(groups);
    this.members = new ApproverGroups(groups);
    this.ofPrincipal = groups.flatMap(({ subjects }, index) => (subjects.includes(PRINCIPAL) ? [index] : []));
  }

  /** True if every group can be filled by the agents counted so far. */
  get isOver(): boolean {
    return this.filled === this.needed;
  }

  get possible(): number {
    return this.filled;
  }

  /** @param agent an active agent. */
  count(agent: PolicyAgent, hasPasskey: boolean): void {
    const own = this.members.groupsFor(agent);
    const matched = agent.kind === 'human' ? [...new Set([...own, ...this.ofPrincipal])].sort(byNumber) : own;
    const fillable = fillableBy(hasPasskey, matched, this.groups);
    if (fillable.length === 0) return;
    const key = fillable.join(' ');
    const count = this.counts.get(key) ?? 0;
    if (count === this.needed) return;
    this.counts.set(key, count + 1);
    this.reviewers.push(fillable);
    this.filled = filledApprovals(this.groups, this.reviewers);
  }
}

function byNumber(left: number, right: number): number {
  return left - right;
}
