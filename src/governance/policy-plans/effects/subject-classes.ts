import { AGENT_KINDS } from '../../agents/agent-name';
import { type AgentSubject, subjectText } from '../../policies/patterns/subjects';
import { addBit, addBits, type Bits, indexesOf, noBits } from './bits';

/** Patterns that every agent matches. */
const EVERYBODY = ['*', 'agent:*'];

/** Subjects that match the same patterns, and so are always answered alike. */
interface SubjectClass {
  readonly members: string[];
  readonly met: readonly string[];
}

/**
 * Everyone who may ask, by class: the registered agents, and for each kind somebody who is not registered and has no
 * roles. A policy's subjects are the set of classes that match one of its patterns.
 */
export class SubjectClasses {
  private readonly classes: SubjectClass[] = [];
  private readonly byPattern = new Map<string, Bits>();

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
    for (const agent of agents) join(agent.agentId, namesOf(agent));
    for (const kind of AGENT_KINDS) join(`other:${kind}`, [`kind:${kind}`]);
    this.classes.forEach(({ met }, index) => met.forEach((name) => addBit(this.bitsOf(name), index)));
  }

  none(): Bits {
    return noBits(this.classes.length);
  }

  /** The classes that match one of the patterns. */
  meeting(patterns: readonly string[]): Bits {
    const bits = this.none();
    for (const pattern of patterns) {
      const name = subjectText(pattern);
      if (EVERYBODY.includes(name)) this.classes.forEach((_, index) => addBit(bits, index));
      else addBits(bits, this.bitsOf(name));
    }
    return bits;
  }

  membersOf(bits: Bits): string[] {
    return [...indexesOf(bits)].flatMap((index) => this.classes[index]?.members ?? []);
  }

  private bitsOf(name: string): Bits {
    const known = this.byPattern.get(name);
    if (known !== undefined) return known;
    const bits = this.none();
    this.byPattern.set(name, bits);
    return bits;
  }
}

function namesOf({ agentId, agentName, kind, roles }: AgentSubject): string[] {
  const ofRoles = roles.map((role) => `role:${role}`);
  const anyRole = roles.length > 0 ? ['role:*'] : [];
  return [`agent:${agentId}`, `agent:${agentName}`, `kind:${kind}`, ...ofRoles, ...anyRole];
}
