import { AGENT_KINDS, agentNameFault } from '../../agents/agent-name';
import { exactLabelFault } from '../../../core/values/label-fault';
import { type AgentSubject, parseSubject, subjectText, textsOf } from '../../policies/patterns/subjects';
import { addBit, type Bits, indexesOf, noBits } from './bits';

const NOBODY: AgentSubject = { agentId: '', agentName: '', kind: 'machine', roles: [] };

/** Subjects that match the same patterns, and so are always answered alike. */
interface SubjectClass {
  readonly members: string[];
  readonly met: readonly string[];
}

/**
 * Everyone who may ask, by class: the registered agents; for each kind somebody who is not registered and has no roles;
 * and for each role and each name that policies list and no agent has, a machine that has it. A policy's subjects are the
 * set of classes that match one of its patterns.
 */
export class SubjectClasses {
  private readonly classes: SubjectClass[] = [];
  /** The indexes of the classes that match it. */
  private readonly byPattern = new Map<string, number[]>();

  /** @param patterns all patterns of the policies. */
  constructor(agents: readonly AgentSubject[], patterns: Iterable<string>) {
    const known = new Set<string>();
    for (const pattern of patterns) known.add(subjectText(pattern));
    const byKey = new Map<string, SubjectClass>();
    const join = (member: string, names: readonly string[]): void => {
      const met = [...new Set(names)].filter((name) => known.has(name)).sort();
      const key = JSON.stringify(met);
      let found = byKey.get(key);
      if (found === undefined) {
        found = { members: [], met };
        byKey.set(key, found);
        this.classes.push(found);
      }
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
    for (const [index, { met }] of this.classes.entries())
      for (const name of met) {
        const indexes = this.byPattern.get(name) ?? [];
        indexes.push(index);
        this.byPattern.set(name, indexes);
      }
  }

  none(): Bits {
    return noBits(this.classes.length);
  }

  /** The classes that match one of the patterns. */
  meeting(patterns: readonly string[]): Bits {
    const bits = this.none();
    for (const pattern of patterns) {
      const name = subjectText(pattern);
      if (name === '*') this.classes.forEach((_, index) => addBit(bits, index));
      else for (const index of this.byPattern.get(name) ?? []) addBit(bits, index);
    }
    return bits;
  }

  membersOf(bits: Bits): string[] {
    return [...indexesOf(bits)].flatMap((index) => this.classes[index]?.members ?? []);
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
