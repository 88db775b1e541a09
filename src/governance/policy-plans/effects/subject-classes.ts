import { AGENT_KINDS, agentNameFault } from '../../agents/agent-name';
import { exactLabelFault } from '../../../core/values/label-fault';
import { type AgentSubject, parseSubject, subjectText, teamOf, textsOf } from '../../policies/patterns/subjects';

/** Prefix of teams among the texts of a class; no pattern begins with it. */
const TEAM = 'team\n';

/** Subjects that match the same patterns, and so are always answered alike. */
interface SubjectClass {
  readonly members: string[];
  readonly met: readonly string[];
}

/**
 * All possible subjects by class: the registered agents; for each kind, a subject that is not registered and has no
 * roles; and for each role and each name that policies list and no agent has, a machine that has it. A policy's
 * subjects are the classes that match one of its patterns: bits of a number, the lowest for the first class.
 */
export class SubjectClasses {
  private readonly classes: readonly SubjectClass[];
  /** Classes that match a pattern. */
  private readonly byPattern = new Map<string, bigint>();

  /**
   * @param patterns all patterns of the policies @param team team of agents that are not registered; null if they are
   * in none
   */
  constructor(agents: readonly AgentSubject[], patterns: Iterable<string>, team: string | null = null) {
    const nobody: AgentSubject = { agentId: '', agentName: '', kind: 'machine', roles: [], team };
    const seenKeys = new Set<string>();
    for (const pattern of patterns) seenKeys.add(subjectText(pattern));
    const byKey = new Map<string, SubjectClass>();
    const join = (member: string, subject: AgentSubject): void => {
      const own = teamOf(subject);
      const ofTeam = own === null ? [] : [TEAM + own];
      const met = [...[...new Set(textsOf(subject))].filter((name) => seenKeys.has(name)).sort(), ...ofTeam];
      const key = JSON.stringify(met);
      const subjectClass = byKey.get(key) ?? { members: [], met };
      byKey.set(key, subjectClass);
      subjectClass.members.push(member);
    };
    const namedTexts = new Set<string>();
    for (const agent of agents) {
      for (const name of textsOf(agent)) namedTexts.add(name);
      join(agent.agentId, agent);
    }
    for (const kind of AGENT_KINDS) join(`other:${kind}`, { ...nobody, kind, team: kind === 'machine' ? team : null });
    for (const pattern of seenKeys) {
      const other = machineFor(pattern, nobody);
      if (other !== null && !namedTexts.has(pattern)) join(`other:${pattern}`, other);
    }
    this.classes = [...byKey.values()];
    this.byPattern.set('*', (1n << BigInt(this.classes.length)) - 1n);
    for (const [index, { met }] of this.classes.entries())
      for (const name of met) this.byPattern.set(name, (this.byPattern.get(name) ?? 0n) | (1n << BigInt(index)));
  }

  /** Returns the classes that match one of the patterns of a policy. @param team team of the policy; null for none */
  meeting(patterns: readonly string[], team: string | null): bigint {
    const matching = patterns.reduce((all, pattern) => all | (this.byPattern.get(subjectText(pattern)) ?? 0n), 0n);
    return team === null ? matching : matching & (this.byPattern.get(TEAM + team) ?? 0n);
  }

  membersOf(classes: bigint): string[] {
    const bits = classes.toString(2);
    return this.classes.flatMap(({ members }, index) => (bits.at(-1 - index) === '1' ? members : []));
  }
}

/**
 * Returns a machine whose only role, or whose name, is that of a pattern; null for any other pattern, and if nobody can
 * have that role or name.
 */
function machineFor(text: string, nobody: AgentSubject): AgentSubject | null {
  const pattern = parseSubject(text);
  if (pattern.kind === 'role')
    return exactLabelFault(pattern.role) === undefined ? { ...nobody, roles: [pattern.role] } : null;
  if (pattern.kind !== 'agent') return null;
  return agentNameFault(pattern.idOrName) === undefined ? { ...nobody, agentName: pattern.idOrName } : null;
}
