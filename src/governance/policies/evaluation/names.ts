import { listedTypeFault } from '../patterns/resources';
import { type EvaluationSubject, subjectText, textsOf } from '../patterns/subjects';
import { type ConditionFacts, NO_FACTS } from '../conditions/facts';
import type { EvaluationRequest } from './evaluation';

/** Names of a subject above which they are also put into a set. */
const MANY = 64;
const BITS = 31;
/** The bit for "every name", which no single name has. */
const EVERY = 1 << BITS;

const NONE: ReadonlySet<string> = new Set();

/** A text that policies in force list. There is one object per text, so equal names are the same object. */
export interface Name {
  readonly text: string;
  /** One of 31 bits, shared with other names. */
  readonly bit: number;
  /** How many policies list it. */
  uses: number;
}

/** The names that a policy lists; null stands for every name. */
export type Names = readonly Name[] | null;

/** The lists of a policy. */
type PolicyLists = Readonly<Record<'subjects' | 'actions' | 'resourceTypes' | 'onBehalfOf', readonly string[]>>;

/** The same as names. */
export interface ListedNames {
  readonly subjects: Names;
  readonly actions: Names;
  readonly resourceTypes: Names;
  /** Patterns of principals, `*` among them; null: it does not matter on whose behalf. */
  readonly principals: Names;
}

/** What a subject is named, as far as policies in force list it. */
interface SubjectNames {
  readonly subjects: readonly Name[];
  /** The same, if they are many: agents have few roles, but other subjects may have thousands. */
  readonly subjectSet: ReadonlySet<Name> | null;
  readonly subjectBits: number;
}

/** What a request names, as far as policies in force list it. */
export interface AskedNames extends SubjectNames {
  readonly actions: readonly Name[];
  readonly resourceTypes: readonly Name[];
  /** Null: it is on nobody's behalf. */
  readonly principals: readonly Name[] | null;
  readonly request: EvaluationRequest;
  /** Null: for each policy, the facts are taken to be those that suit it best. */
  readonly facts: ConditionFacts | null;
  readonly isReview: boolean;
  /** Whether policies with limits can match: not for reviews, or subjects that are no registered agents. */
  readonly usesLimits: boolean;
  /** The ids of policies that match but for a limit. */
  readonly reached: ReadonlySet<string>;
  readonly actionBits: number;
  readonly resourceTypeBits: number;
}

/** The bits of a policy's names. Without a bit in common with {@link bitsAsked}, there is no name in common. */
export function bitsOf(names: Names): number {
  if (names === null) return EVERY;
  let bits = 0;
  for (const name of names) bits |= name.bit;
  return bits;
}

/** The bits of a request's names. */
function bitsAsked(names: readonly Name[]): number {
  return EVERY | bitsOf(names);
}

export function haveCommonName(names: Names, asked: readonly Name[]): boolean {
  if (names === null) return true;
  for (const name of names) {
    for (const other of asked) if (name === other) return true;
  }
  return false;
}

/** All names that policies in force list. A name that no policy lists any more leaves nothing behind. */
export class PolicyNames {
  private readonly subjects = new NameTable();
  /** As policies write them: a prefix with its `*`. */
  private readonly actions = new NameTable();
  private readonly resourceTypes = new NameTable();
  private readonly principals = new NameTable();
  /** How often policies list prefixes of each length. */
  private readonly prefixLengths = new Map<number, number>();
  /** The subject of the previous request: lists ask about the same one again and again. */
  private known: { readonly subject: EvaluationSubject; readonly names: SubjectNames } | null = null;

  /** Registers the names of a policy that comes into force. */
  take(policy: PolicyLists): ListedNames {
    const { subjects, actions, resourceTypes, onBehalfOf } = policy;
    this.known = null;
    const listed = {
      subjects: subjects.includes('*') ? null : this.subjects.take(subjects.map(subjectText)),
      actions: actions.includes('*') ? null : this.actions.take(actions),
      // Stored types that would no longer be accepted match nothing.
      resourceTypes: resourceTypes.length === 0 ? null : this.resourceTypes.take(resourceTypes.filter(isAccepted)),
      principals: onBehalfOf.length === 0 ? null : this.principals.take(onBehalfOf.map(subjectText)),
    };
    this.countPrefixes(listed.actions, 1);
    return listed;
  }

  /** Releases the names of a policy that is removed. */
  release({ subjects, actions, resourceTypes, principals }: ListedNames): void {
    this.known = null;
    this.subjects.release(subjects);
    this.actions.release(actions);
    this.resourceTypes.release(resourceTypes);
    this.principals.release(principals);
    this.countPrefixes(actions, -1);
  }

  asked(request: EvaluationRequest, facts: ConditionFacts | null = NO_FACTS): AskedNames {
    const { subject, action, resourceType, principal = null, isReview = false } = request;
    const { subjects, subjectSet, subjectBits } = this.namesOf(subject);
    const actions = this.actions.find([action]);
    for (const length of this.prefixLengths.keys())
      if (length <= action.length) this.actions.addTo(actions, `${action.slice(0, length)}*`);
    const resourceTypes = this.resourceTypes.find([resourceType]);
    return {
      subjects,
      subjectSet,
      actions,
      resourceTypes,
      principals: principal === null ? null : this.principals.find(['*', ...textsOf(principal)]),
      request,
      facts,
      isReview,
      usesLimits: !isReview && 'agentId' in subject && subject.agentId !== '',
      reached: NONE,
      subjectBits,
      actionBits: bitsAsked(actions),
      resourceTypeBits: bitsAsked(resourceTypes),
    };
  }

  private namesOf(subject: EvaluationSubject): SubjectNames {
    if (this.known?.subject === subject) return this.known.names;
    const subjects = this.subjects.find(textsOf(subject));
    const subjectSet = subjects.length > MANY ? new Set(subjects) : null;
    const names = { subjects, subjectSet, subjectBits: bitsAsked(subjects) };
    this.known = { subject, names };
    return names;
  }

  private countPrefixes(actions: Names, more: 1 | -1): void {
    for (const { text } of actions ?? []) {
      if (!text.endsWith('*')) continue;
      const length = text.length - 1;
      const count = (this.prefixLengths.get(length) ?? 0) + more;
      if (count === 0) this.prefixLengths.delete(length);
      else this.prefixLengths.set(length, count);
    }
  }
}

class NameTable {
  private readonly names = new Map<string, Name>();

  /** The name of each text, once, with one more use. */
  take(texts: readonly string[]): Name[] {
    return Array.from(new Set(texts), (text) => {
      const name = this.names.get(text) ?? { text, bit: 1 << (this.names.size % BITS), uses: 0 };
      name.uses += 1;
      this.names.set(text, name);
      return name;
    });
  }

  release(names: Names): void {
    for (const name of names ?? []) {
      name.uses -= 1;
      if (name.uses === 0) this.names.delete(name.text);
    }
  }

  /** The names of those texts that policies list. */
  find(texts: readonly string[]): Name[] {
    const found: Name[] = [];
    for (const text of texts) this.addTo(found, text);
    return found;
  }

  addTo(names: Name[], text: string): void {
    const name = this.names.get(text);
    if (name !== undefined) names.push(name);
  }
}

function isAccepted(resourceType: string): boolean {
  return listedTypeFault(resourceType) === undefined;
}
