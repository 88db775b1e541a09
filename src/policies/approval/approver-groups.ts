import type { AgentKind } from '../../agents/agent-kind';
import { parseSubject } from '../patterns/subject-pattern';
import { type PolicyAgent, subjectOf } from '../subject-of';
import type { ApproverGroup } from './approval-requirement';

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
