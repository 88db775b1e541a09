import { AGENT_KINDS, agentNameFault } from '../../agents/agent-name';
import { exactLabelFault } from '../../../core/values/label-fault';
import { type AgentSubject, parseSubject, subjectText, textsOf } from '../../policies/patterns/subjects';

const NOBODY: AgentSubject = { agentId: '', agentName: '', kind: 'machine', roles: [] };

/** Subjects that match the same patterns, and so are always answered alike. */
interface SubjectClass {
  readonly members: string[];
  readonly met: readonly string[];
}

/**
 * Everyone who may ask, by class: the registered agents; for each kind somebody who is not registered and has no roles;
 * and for each role and each name that policies list and no agent has, a machine that has it. A policy's subjects are the
 * classes that match one of its patterns: the bits of a number, the lowest for the first class.
 */
export class SubjectClasses {
  private readonly classes: readonly SubjectClass[];
  /** The classes that match a pattern. */
  private readonly byPattern = new Map<string, bigint>();

  /** @param patterns all patterns of the policies. */
  constructor(agents: readonly AgentSubject[], patterns: Iterable<string>) {
    const known = new Set<string>();
    for (const pattern of patterns) known.add(subjectText(pattern));
    const byKey = new Map<string, SubjectClass>();
    const join = (member: string, names: readonly string[]): void => {
      const met = [...new Set(names)].filter((name) => known.has(name)).sort();
      const key = JSON.stringify(met);
      const found = byKey.get(key) ?? { members: [], met };
      byKey.set(key, found);
      found.members.push(member);
    };
    const had = new Set<string>();
    for (const agent of agents) {
      const names = textsOf(agent);
      for (const name of names) had.add(name);
      join(agent.agentId, names);
    }
    for (const kind of AGENT_KINDS) join(`other:${kind}`, textsOf({ ...NOBODY, kind }));
    for (const pattern of known) {
      const other = machineFor(pattern);
      if (other !== null && !had.has(pattern)) join(`other:${pattern}`, textsOf(other));
    }
    this.classes = [...byKey.values()];
    this.byPattern.set('*', (1n << BigInt(this.classes.length)) - 1n);
    for (const [index, { met }] of this.classes.entries())
      for (const name of met) this.byPattern.set(name, (this.byPattern.get(name) ?? 0n) | (1n << BigInt(index)));
  }

  /** The classes that match one of the patterns. */
  meeting(patterns: readonly string[]): bigint {
    return patterns.reduce((all, pattern) => all | (this.byPattern.get(subjectText(pattern)) ?? 0n), 0n);
  }

  membersOf(classes: bigint): string[] {
    const bits = classes.toString(2);
    return this.classes.flatMap(({ members }, index) => (bits.at(-1 - index) === '1' ? members : []));
  }
}

/** The machine that a pattern names by its one role, or by its name; null if it names none, or nobody can have that. */
function machineFor(text: string): AgentSubject | null {
  const pattern = parseSubject(text);
  if (pattern.kind === 'role')
    return exactLabelFault(pattern.role) === undefined ? { ...NOBODY, roles: [pattern.role] } : null;
  if (pattern.kind !== 'agent') return null;
  return agentNameFault(pattern.idOrName) === undefined ? { ...NOBODY, agentName: pattern.idOrName } : null;
}
