import type { AgentSubject, EvaluationSubject, OtherSubject } from '../patterns/subject';
import type { JsonObject } from '../../json/json-value';
import type { EvaluationRequest } from './evaluation-request';
import { Name, NameTable, bitsAsked, type Names } from './name';
import { listedTypeFault } from '../patterns/resource-pattern';
import { parseSubject } from '../patterns/subject-pattern';
import type { SubjectPattern } from '../patterns/subject-pattern';

/** Names of a subject above which they are put into a set. */
const MANY = 64;
/** Listed among the kinds of agents. */
const EVERY_AGENT = '*';

/** The lists of a policy, as they are written. */
interface ListedTexts {
  readonly subjects: readonly string[];
  readonly actions: readonly string[];
  readonly resourceTypes: readonly string[];
}

/** The lists of a policy, as names. */
export interface ListedNames {
  readonly subjects: Names;
  readonly actions: Names;
  readonly resourceTypes: Names;
}

/** What a subject is named, as far as policies in force list it. */
export interface SubjectNames {
  readonly subjects: readonly Name[];
  /** The same, if they are many: agents have few roles, but other subjects may have thousands. */
  readonly subjectSet: ReadonlySet<Name> | null;
  readonly subjectBits: number;
}

/** What a request names, as far as policies in force list it. */
export interface AskedNames extends SubjectNames {
  readonly actions: readonly Name[];
  readonly resourceTypes: readonly Name[];
  readonly parameters: JsonObject;
  readonly isReview: boolean;
  readonly actionBits: number;
  readonly resourceTypeBits: number;
}

/** All names that policies in force list. */
export class PolicyNames {
  /** Ids and names of agents. */
  private readonly agents = new NameTable();
  /** Kinds of agents, and `*` for all agents. */
  private readonly agentKinds = new NameTable();
  /** Subjects that are not agents, by type and id: both as the client writes them, and `*` for all of a type. */
  private readonly others = new NameTable();
  private readonly roles = new NameTable();
  private readonly actions = new NameTable();
  /** Without their `*`. */
  private readonly actionPrefixes = new NameTable();
  private readonly resourceTypes = new NameTable();
  /** Matches everyone who has any role. */
  private readonly anyRole = new Name('role:*', 1, new Map());

  /** Registers the names of a policy that comes into force. */
  take({ subjects, actions, resourceTypes }: ListedTexts): ListedNames {
    return {
      subjects: this.takeSubjects(subjects),
      actions: this.takeActions(actions),
      // Stored patterns that would no longer be accepted match nothing.
      resourceTypes: resourceTypes.length === 0 ? null : this.resourceTypes.take(resourceTypes.filter(isAccepted)),
    };
  }

  /** @param subjects the names of its subject, if they are known. */
  asked(
    { subject, action, resourceType, parameters, isReview = false }: EvaluationRequest,
    { subjects, subjectSet, subjectBits }: SubjectNames = this.namesOf(subject),
  ): AskedNames {
    const actions = this.actionPrefixes.prefixesOf(action);
    addKnown(actions, this.actions.find(action));
    const resourceTypes = known(this.resourceTypes.find(resourceType));
    return {
      subjects,
      subjectSet,
      actions,
      resourceTypes,
      parameters,
      isReview,
      subjectBits,
      actionBits: bitsAsked(actions),
      resourceTypeBits: bitsAsked(resourceTypes),
    };
  }

  /** What a subject is named, as far as policies in force list it. */
  namesOf(subject: EvaluationSubject): SubjectNames {
    const subjects = this.besidesRoles(subject);
    for (const text of subject.roles) addKnown(subjects, this.roles.find(text));
    return subjectNames(subjects);
  }

  /** The same in small steps, for a subject with many roles. */
  *namesInSteps(subject: EvaluationSubject): Generator<void, SubjectNames> {
    const subjects = this.besidesRoles(subject);
    for (const text of subject.roles) {
      addKnown(subjects, this.roles.find(text));
      yield;
    }
    return subjectNames(subjects);
  }

  private besidesRoles(subject: EvaluationSubject): Name[] {
    const subjects = 'agentId' in subject ? this.agentNames(subject) : this.otherNames(subject);
    if (subject.roles.length > 0) subjects.push(this.anyRole);
    return subjects;
  }

  private takeActions(texts: readonly string[]): Names {
    if (texts.includes('*')) return null;
    const [prefixes, exact] = [texts.filter(isPrefix), texts.filter((text) => !isPrefix(text))];
    return [...this.actions.take(exact), ...this.actionPrefixes.take(prefixes.map((text) => text.slice(0, -1)))];
  }

  private agentNames({ agentId, agentName, kind }: AgentSubject): Name[] {
    const names = known(this.agents.find(agentId), this.agents.find(agentName));
    addKnown(names, this.agentKinds.find(kind));
    addKnown(names, this.agentKinds.find(EVERY_AGENT));
    return names;
  }

  private otherNames({ type, id }: OtherSubject): Name[] {
    return known(this.others.find(otherName(type, id)), this.others.find(otherName(type, '*')));
  }

  private takeSubjects(texts: readonly string[]): Names {
    const patterns = texts.map(parseSubject);
    if (patterns.some(({ kind }) => kind === 'everyone')) return null;
    const anyRole = patterns.some(({ kind }) => kind === 'anyRole') ? [this.anyRole.take()] : [];
    return [
      ...this.agents.take(textsOf(patterns, (each) => (each.kind === 'agent' ? each.idOrName : null))),
      ...this.agentKinds.take(textsOf(patterns, agentKindOf)),
      ...this.others.take(textsOf(patterns, (each) => (each.kind === 'other' ? otherName(each.type, each.id) : null))),
      ...this.roles.take(textsOf(patterns, (each) => (each.kind === 'role' ? each.role : null))),
      ...anyRole,
    ];
  }
}

/** Releases the names of a removed policy, so that names no other policy lists are dropped. */
export function releaseNames({ subjects, actions, resourceTypes }: ListedNames): void {
  for (const names of [subjects, actions, resourceTypes]) names?.forEach((name) => name.release());
}

function subjectNames(subjects: readonly Name[]): SubjectNames {
  const subjectSet = subjects.length > MANY ? new Set(subjects) : null;
  return { subjects, subjectSet, subjectBits: bitsAsked(subjects) };
}

function isAccepted(resourceType: string): boolean {
  return listedTypeFault(resourceType) === undefined;
}

function isPrefix(action: string): boolean {
  return action.endsWith('*');
}

function known(first: Name | undefined, second?: Name): Name[] {
  if (first === undefined) return second === undefined ? [] : [second];
  return second === undefined ? [first] : [first, second];
}

function addKnown(names: Name[], name: Name | undefined): void {
  if (name !== undefined) names.push(name);
}

/** Unambiguous, as no type contains a `:`. */
function otherName(type: string, id: string): string {
  return `${type}:${id}`;
}

function agentKindOf(pattern: SubjectPattern): string | null {
  if (pattern.kind === 'anyAgent') return EVERY_AGENT;
  return pattern.kind === 'agentKind' ? pattern.agentKind : null;
}

function textsOf(patterns: readonly SubjectPattern[], text: (pattern: SubjectPattern) => string | null): string[] {
  return patterns.flatMap((pattern) => text(pattern) ?? []);
}
