import type { PolicyAgent } from '../patterns/subjects';
import { PRINCIPAL, sumOfApprovals, type ApproverGroup } from './approval-requirement';
import { ApproverGroups, fillableBy, type FillableGroups, filledApprovals } from './approver-groups';

/** The groups that an agent can fill. */
interface Reviewer {
  readonly own: FillableGroups;
  /** Groups that the agent can fill if a request is on this person's behalf. */
  readonly asPrincipal: FillableGroups;
}

/**
 * Counts the approvals of a policy that different agents could give, each for one group, once all groups have
 * escalated.
 */
export class ApproverShortage {
  readonly needed: number;
  private filled = 0;
  private readonly members: ApproverGroups;
  /** Groups that the principal of a request, one person, may fill. */
  private readonly ofPrincipal: FillableGroups;
  /**
   * Numbers of agents by the groups that they can fill. Agents with the same groups are interchangeable, so each number
   * is at most that of the approvals.
   */
  private readonly counts = new Map<string, number>();
  private readonly reviewers: Reviewer[] = [];

  constructor(private readonly groups: readonly ApproverGroup[]) {
    const escalated = groups.map((group) => ({
      ...group,
      subjects: [...group.subjects, ...(group.escalate?.subjects ?? [])],
    }));
    this.needed = sumOfApprovals(groups);
    this.members = new ApproverGroups(escalated);
    this.ofPrincipal = escalated.flatMap(({ subjects }, index) => (subjects.includes(PRINCIPAL) ? [index] : []));
  }

  /** True if every group can be filled by the agents counted so far. */
  get isOver(): boolean {
    return this.filled === this.needed;
  }

  get possible(): number {
    return this.filled;
  }

  /** @param agent active agent */
  count(agent: PolicyAgent, hasPasskey: boolean): void {
    const own = this.members.groupsFor(agent);
    const all = agent.kind === 'human' ? [...new Set([...own, ...this.ofPrincipal])].sort(byNumber) : own;
    const reviewer = {
      own: fillableBy(hasPasskey, own, this.groups),
      asPrincipal: fillableBy(hasPasskey, all, this.groups),
    };
    if (reviewer.asPrincipal.length === 0) return;
    const key = fillableKey(reviewer);
    const count = this.counts.get(key) ?? 0;
    if (count === this.needed) return;
    this.counts.set(key, count + 1);
    this.reviewers.push(reviewer);
    this.filled = this.mostFilled();
  }

  /** Returns the most approvals over all possible principals. */
  private mostFilled(): number {
    const withoutPrincipal = this.reviewers.map(({ own }) => own);
    const principals = new Map(
      this.reviewers.flatMap(({ own, asPrincipal }, index) =>
        asPrincipal.length > own.length ? [[fillableKey({ own, asPrincipal }), index] as const] : [],
      ),
    );
    const withPrincipals = [...principals.values()].map((principal) =>
      this.reviewers.map(({ own, asPrincipal }, index) => (index === principal ? asPrincipal : own)),
    );
    return Math.max(
      ...[withoutPrincipal, ...withPrincipals].map((reviewers) => filledApprovals(this.groups, reviewers)),
    );
  }
}

function fillableKey({ own, asPrincipal }: Reviewer): string {
  return `${own.join(' ')}, ${asPrincipal.join(' ')}`;
}

function byNumber(left: number, right: number): number {
  return left - right;
}
