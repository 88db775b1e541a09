import { createHash } from 'node:crypto';

export const ACTIONS = ['read', 'send'] as const;

export interface ModelAgent {
  readonly id: string;
  readonly name: string;
  readonly team: string | null;
  readonly roles: readonly string[];
  readonly capabilities: readonly string[];
  readonly status: string;
}

export interface ModelPolicy {
  readonly id: string;
  readonly name: string;
  readonly team: string | null;
  readonly status: string;
  readonly effect: 'allow' | 'deny' | 'require_approval';
  readonly subjects: readonly string[];
  readonly actions: readonly string[];
  readonly priority: number;
}

/** A literal implementation of the rules of teams, with which the service is compared. */
export class TeamModel {
  /** Maps names to agents. */
  readonly agents = new Map<string, ModelAgent>();
  /** Every version, by id. */
  readonly policies = new Map<string, ModelPolicy>();
  /** The id of the agent of each execution, by its own. */
  readonly executions = new Map<string, string>();

  agentById(id: string): ModelAgent | undefined {
    return [...this.agents.values()].find((agent) => agent.id === id);
  }

  /** Takes a policy over; one that is in force supersedes the others of its name. */
  put(policy: ModelPolicy): void {
    if (policy.status === 'active')
      for (const other of this.policies.values())
        if (other.name === policy.name && other.status === 'active')
          this.policies.set(other.id, { ...other, status: 'superseded' });
    this.policies.set(policy.id, policy);
  }

  /** Takes over what a team has applied: of others nothing may have changed. */
  replaceActive(team: string, active: readonly ModelPolicy[]): void {
    const others = active.filter((policy) => policy.team !== team).map(({ id }) => id);
    const expected = [...this.policies.values()].filter((policy) => policy.team !== team && policy.status === 'active');
    if (
      others.sort().join() !==
      expected
        .map(({ id }) => id)
        .sort()
        .join()
    )
      throw new Error('Others have changed.');
    const ids = new Set(active.map(({ id }) => id));
    const names = new Set(active.map(({ name }) => name));
    for (const policy of active) this.put(policy);
    for (const policy of this.policies.values())
      if (policy.status === 'active' && !ids.has(policy.id))
        this.policies.set(policy.id, { ...policy, status: names.has(policy.name) ? 'superseded' : 'inactive' });
  }

  activeOf(team: string | null): ModelPolicy[] {
    return [...this.policies.values()].filter((policy) => policy.team === team && policy.status === 'active');
  }

  /** True if another team, or none, has the name. */
  isTaken(name: string, team: string): boolean {
    return [...this.policies.values()].some((policy) => policy.name === name && policy.team !== team);
  }

  setOf(team: string): string {
    const ids = this.activeOf(team).map(({ id }) => id);
    return createHash('sha256').update(JSON.stringify(ids.sort())).digest('hex');
  }

  effectOf(agent: ModelAgent, action: string): ModelPolicy['effect'] {
    if (agent.status !== 'active' || !agent.capabilities.some((one) => one === '*' || one === action)) return 'deny';
    const matching = [...this.policies.values()].filter(
      ({ status, team, subjects, actions }) =>
        status === 'active' &&
        (team === null || team === agent.team) &&
        subjects.some((one) => one === '*' || one === `agent:${agent.name}` || isRole(one, agent)) &&
        actions.some((one) => one === '*' || one === action),
    );
    const highest = Math.max(...matching.map(({ priority }) => priority));
    const effects = matching.filter(({ priority }) => priority === highest).map(({ effect }) => effect);
    return (['deny', 'require_approval', 'allow'] as const).find((effect) => effects.includes(effect)) ?? 'deny';
  }
}

function isRole(subject: string, { roles }: ModelAgent): boolean {
  return subject.startsWith('role:') && roles.includes(subject.slice('role:'.length));
}
