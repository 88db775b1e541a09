import { type AgentSubject, parseSubject, subjectText, subjectWarning } from '../../policies/patterns/subjects';
import { PRINCIPAL } from '../../policies/approval/approval-requirement';
import type { PlannedPolicy } from './effect';
import { NamedActions } from './named-actions';
import { nearestOf } from './near-names';

/** One more than a plan shows, so that it says that there are more. */
const MOST_REPORTED = 1_001;
/** Names that are compared to find a similar one: about a second of work. */
const MOST_COMPARED = 1_000_000;
/** Policies that a warning names. */
const MOST_NAMED = 3;
/** Reviews of decisions: no agent needs a capability for them. */
const REVIEWS = ['decision:approve', 'decision:reject'];

/** Who is registered. */
export interface Registered {
  readonly agents: readonly AgentSubject[];
  /** All of theirs, each once; null if they are too many to be kept. */
  readonly capabilities: ReadonlySet<string> | null;
}

type Named = Pick<PlannedPolicy, 'name' | 'version' | 'subjects' | 'actions' | 'approval' | 'isBefore' | 'isAfter'>;

/**
 * Warns of roles and names that no agent has, and of actions that no agent is capable of and no other policy names, in
 * policies that come into force. They are not stored with the policy: the next agent may change them.
 */
export function unknownNames(policies: readonly Named[], { agents, capabilities }: Registered): string[] {
  const target = policies.filter(({ isAfter }) => isAfter);
  const coming = target.filter(({ isBefore }) => !isBefore);
  const had = new Set(agents.flatMap(textsOf));
  const subjects = namedBy(coming, (policy) => policy.subjects.filter((subject) => isUnknown(subject, had)));
  const isOfNobody = (text: string): string => `${whatIs(text)} that no agent has`;
  const approvers = namedBy(coming, (policy) => approversOf(policy).filter((subject) => isUnknown(subject, had)));
  const ofSubjects = [
    ...warnings(subjects, had, isOfNobody),
    // That nobody matches a group is said anyway.
    ...warnings(approvers, had, (text) => `an approver, ${isOfNobody(text)}`, true),
  ];
  // Before anybody is registered, this would be said of each action.
  if (capabilities === null || agents.length === 0) return ofSubjects;
  const actions = unknownActions(coming, target, capabilities);
  const named = target.flatMap((policy) => policy.actions.filter((action) => !actions.has(action)));
  const able = new Set([...capabilities, ...named]);
  const ofActions = warnings(actions, able, () => 'an action that no agent is capable of and no other policy names');
  return [...ofSubjects, ...ofActions].slice(0, MOST_REPORTED);
}

function approversOf({ subjects, approval }: Named): string[] {
  const named = (approval?.approvers ?? []).flatMap((group) => group.subjects);
  return named.filter((subject) => subject !== PRINCIPAL && !subjects.includes(subject));
}

function textsOf({ agentId, agentName, roles }: AgentSubject): string[] {
  return [`agent:${agentId}`, `agent:${agentName}`, ...roles.map((role) => `role:${role}`)];
}

function isUnknown(subject: string, had: ReadonlySet<string>): boolean {
  const { kind } = parseSubject(subject);
  const isName = kind === 'role' || kind === 'agent';
  return isName && !had.has(subjectText(subject)) && subjectWarning(subject) === undefined;
}

function whatIs(subject: string): string {
  return parseSubject(subject).kind === 'role' ? 'a role' : 'a name';
}

function unknownActions(
  coming: readonly Named[],
  target: readonly Named[],
  capabilities: ReadonlySet<string>,
): ReadonlyMap<string, readonly Named[]> {
  const able = new NamedActions([{ name: '', actions: capabilities }]);
  const naming = new NamedActions(
    target.map(({ name, actions }) => ({ name, actions: actions.filter((action) => action !== '*') })),
  );
  return namedBy(coming.filter(isForAgents), ({ name, actions }) =>
    actions.filter(
      (action) =>
        !['*', ...REVIEWS].includes(action) && !able.haveInCommon(action) && !naming.haveInCommon(action, name),
    ),
  );
}

/** Others need no capability. */
function isForAgents({ subjects }: Named): boolean {
  return subjects.some((subject) => parseSubject(subject).kind !== 'other');
}

function namedBy(
  policies: readonly Named[],
  textsIn: (policy: Named) => readonly string[],
): ReadonlyMap<string, readonly Named[]> {
  const found = new Map<string, Named[]>();
  for (const policy of policies) {
    for (const text of new Set(textsIn(policy))) {
      const others = found.get(text);
      if (others === undefined) found.set(text, [policy]);
      else others.push(policy);
    }
  }
  return found;
}

function warnings(
  unknown: ReadonlyMap<string, readonly Named[]>,
  known: ReadonlySet<string>,
  reasonOf: (text: string) => string,
  onlyMeant = false,
): string[] {
  const compared = MOST_COMPARED / known.size;
  return [...unknown].slice(0, MOST_REPORTED).flatMap(([text, policies], index) => {
    const near = index < compared ? nearestOf(text, known) : null;
    if (onlyMeant && near === null) return [];
    const meant = near === null ? '.' : `: did you mean "${near}"?`;
    return `${listed(policies)}: "${text}" is ${reasonOf(text)}${meant}`;
  });
}

function listed(policies: readonly Named[]): string {
  const more = policies.length - MOST_NAMED;
  const names = policies.slice(0, MOST_NAMED).map(({ name, version }) => `${name} (version ${version})`);
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
