import type { PolicyRules } from './compiled-policy';
import type { EvaluationRequest } from './evaluation-request';
import { Name, NameTable } from './name';
import { bitsAsked, type Names } from './names';
import { listedTypeFault } from './resource-pattern';
import { parseSubject } from './subject-pattern';

/** The lists of a policy, as names. */
export interface ListedNames {
  readonly subjects: Names;
  readonly actions: Names;
  readonly resourceTypes: Names;
}

/** What a request names, as far as policies in force list it. */
export interface AskedNames {
  readonly subjects: readonly Name[];
  readonly actions: readonly Name[];
  readonly resourceTypes: readonly Name[];
  readonly subjectBits: number;
  readonly actionBits: number;
  readonly resourceTypeBits: number;
}

/** All names that policies in force list. */
export class PolicyNames {
  /** Ids and names of agents. */
  private readonly agents = new NameTable();
  private readonly roles = new NameTable();
  private readonly actions = new NameTable();
  private readonly resourceTypes = new NameTable();
  /** Of everyone who has a role, whichever. */
  private readonly anyRole = new Name('role:*', 1, new Map());

  /** The names of a policy that comes into force. */
  take({ subjects, actions, resourceTypes }: PolicyRules): ListedNames {
    return {
      subjects: this.takeSubjects(subjects),
      actions: actions.includes('*') ? null : this.actions.take(actions),
      // What is stored but would not be accepted any more matches nothing.
      resourceTypes: resourceTypes.length === 0 ? null : this.resourceTypes.take(resourceTypes.filter(isAccepted)),
    };
  }

  asked({ subject, action, resourceType }: EvaluationRequest): AskedNames {
    const { agentId, agentName, roles } = subject;
    const subjects = known(this.agents.find(agentId), this.agents.find(agentName));
    if (roles.length > 0) subjects.push(this.anyRole);
    for (const text of roles) {
      const role = this.roles.find(text);
      if (role !== undefined) subjects.push(role);
    }
    const actions = known(this.actions.find(action));
    const resourceTypes = known(this.resourceTypes.find(resourceType));
    return {
      subjects,
      actions,
      resourceTypes,
      subjectBits: bitsAsked(subjects),
      actionBits: bitsAsked(actions),
      resourceTypeBits: bitsAsked(resourceTypes),
    };
  }

  private takeSubjects(texts: readonly string[]): Names {
    const patterns = texts.map(parseSubject);
    if (patterns.some(({ kind }) => kind === 'everyone')) return null;
    const agents = patterns.flatMap((pattern) => (pattern.kind === 'agent' ? [pattern.idOrName] : []));
    const roles = patterns.flatMap((pattern) => (pattern.kind === 'role' ? [pattern.role] : []));
    const anyRole = patterns.some(({ kind }) => kind === 'anyRole') ? [this.anyRole.take()] : [];
    return [...this.agents.take(agents), ...this.roles.take(roles), ...anyRole];
  }
}

/** Forgets the names of a policy out of force that no other lists. */
export function releaseNames({ subjects, actions, resourceTypes }: ListedNames): void {
  for (const names of [subjects, actions, resourceTypes]) names?.forEach((name) => name.release());
}

function isAccepted(resourceType: string): boolean {
  return listedTypeFault(resourceType) === undefined;
}

function known(first: Name | undefined, second?: Name): Name[] {
  if (first === undefined) return second === undefined ? [] : [second];
  return second === undefined ? [first] : [first, second];
}
