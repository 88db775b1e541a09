import { TimeSlice, yieldBetween } from '../../core/concurrency/time-slice';
import { patternsAround } from '../../core/values/action-pattern';
import { labelFault } from '../../core/values/label-fault';
import { editsBetween } from '../../core/values/edits';
import { addToGroups } from '../../core/values/grouped';
import { type AgentSubject, parseSubject, subjectText, subjectWarning, textsOf } from './patterns/subjects';
import { everySubjectOf, PRINCIPAL } from './approval/approval-requirement';
import type { PolicyContent } from './policy-content';

/** Actions for reviews of decisions. */
export const REVIEWS: readonly string[] = ['decision:approve', 'decision:reject'];
/** Most capabilities; with more, there are no warnings about actions. */
export const MAX_CAPABILITIES = 100_000;

/** Most names that are compared to find a similar one: some seconds of work, divided into turns. */
const MAX_COMPARISONS = 1_000_000;
/** Most policies that a warning names. */
const MAX_LISTED_POLICIES = 3;
const PREFIXES = ['agent', 'role', 'kind'];
const UNKNOWN_ACTION = 'an action that no agent is capable of and no other policy names';
/** Names with fewer characters than `SHORT` may differ in one letter; those with fewer than `SHORTEST`, in none. */
const SHORT = 5;
const SHORTEST = 3;

interface RegisteredNames {
  readonly agents: readonly AgentSubject[];
  /** Capabilities of all agents, each once; null if they are too many. */
  readonly capabilities: ReadonlySet<string> | null;
}

type NamingPolicy = Pick<PolicyContent, 'name' | 'version' | 'subjects' | 'actions' | 'approval'> & {
  /** True if the policy is in force before the change. */
  readonly isBefore: boolean;
  /** True if the policy is in force after the change. */
  readonly isAfter: boolean;
};

/** A warning about a name, and the policies that have the name. */
interface NameWarning {
  readonly policies: readonly NamingPolicy[];
  readonly sentence: string;
}

/**
 * Warns of names in policies that come into force: roles and names that no agent has, and actions that no agent's
 * capabilities cover and no other policy names. All agents and policies are looked at, so the work is divided into
 * turns.
 * @param most most warnings: no more names are compared than are shown
 */
export async function unknownNames(
  policies: readonly NamingPolicy[],
  { agents, capabilities }: RegisteredNames,
  most: number,
): Promise<NameWarning[]> {
  const target = policies.filter(({ isAfter }) => isAfter);
  const coming = target.filter(({ isBefore }) => !isBefore);
  const namedTexts = new Set<string>();
  for await (const agent of yieldBetween(agents)) for (const text of textsOf(agent)) namedTexts.add(text);
  const subjects = await groupInTurns(coming, (policy) =>
    policy.subjects.filter((name) => isUnknown(name, namedTexts)),
  );
  const approvers = await groupInTurns(coming, (policy) =>
    approversOf(policy).filter((name) => isUnknown(name, namedTexts)),
  );
  const subjectWarnings = [
    ...(await warnings(subjects, namedTexts, { reasonOf: whatIs, most })),
    // Groups that nobody matches have a separate warning.
    ...(await warnings(approvers, namedTexts, {
      reasonOf: (text) => `an approver, ${whatIs(text)}`,
      most,
      onlySimilar: true,
    })),
  ];
  // Without registered agents, there would be a warning about every action.
  if (capabilities === null || agents.length === 0) return subjectWarnings;
  const actions = await unknownActions(coming, target, capabilities);
  const able = new Set(capabilities);
  for await (const policy of yieldBetween(target))
    for (const action of policy.actions) if (!actions.has(action)) able.add(action);
  const actionWarnings = await warnings(actions, able, { reasonOf: () => UNKNOWN_ACTION, most });
  return [...subjectWarnings, ...actionWarnings].slice(0, most);
}

function approversOf({ subjects, approval }: NamingPolicy): string[] {
  const approverSubjects = (approval?.approvers ?? []).flatMap(everySubjectOf);
  return approverSubjects.filter((subject) => subject !== PRINCIPAL && !subjects.includes(subject));
}

function isUnknown(subject: string, namedTexts: ReadonlySet<string>): boolean {
  const pattern = parseSubject(subject);
  if (pattern.kind === 'other') return withRightPrefix(subject) !== null;
  const isName = pattern.kind === 'role' || pattern.kind === 'agent';
  return isName && !namedTexts.has(subjectText(subject)) && subjectWarning(subject) === undefined;
}

/**
 * Corrects a misspelt prefix: `roles:support` or `Agent:clerk` is another type of subject, and a deny for it affects
 * nobody.
 */
function withRightPrefix(subject: string): string | null {
  const pattern = parseSubject(subject);
  if (pattern.kind !== 'other') return null;
  const correction = PREFIXES.find((prefix) => editsBetween(pattern.type.toLowerCase(), prefix, 1) <= 1);
  return correction === undefined ? null : `${correction}:${pattern.id}`;
}

function whatIs(subject: string): string {
  const pattern = parseSubject(subject);
  if (pattern.kind === 'other') return `a subject of the type "${pattern.type}", neither an agent nor a role`;
  return `${pattern.kind === 'role' ? 'a role' : 'a name'} that no agent has`;
}

async function unknownActions(
  coming: readonly NamingPolicy[],
  target: readonly NamingPolicy[],
  capabilities: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly NamingPolicy[]>> {
  // Subjects that are not agents need no capability.
  const forAgents = coming.filter(({ subjects }) => subjects.some((subject) => parseSubject(subject).kind !== 'other'));
  const patterns = new Set(forAgents.flatMap(({ actions }) => actions));
  const able = await overlapsIn(
    patterns,
    [...capabilities].map((capability) => ({ name: null, actions: [capability] })),
  );
  const naming = await overlapsIn(
    patterns,
    target.map(({ name, actions }) => ({ name, actions: actions.filter((action) => action !== '*') })),
  );
  return groupInTurns(forAgents, ({ name, actions }) =>
    actions.filter(
      (action) =>
        // No agent needs a capability to review.
        !['*', ...REVIEWS].includes(action) &&
        labelFault(action) === undefined &&
        !able(action) &&
        !naming(action, name),
    ),
  );
}

/** Actions, and patterns of actions, of one list; `name` is null for the capabilities of agents. */
interface ActionList {
  readonly name: string | null;
  readonly actions: readonly string[];
}

/**
 * Returns a function that is true for an action if a list, other than the list `except`, has an action or a pattern
 * that overlaps with it. The action must be one of `patterns`.
 */
async function overlapsIn(
  patterns: ReadonlySet<string>,
  lists: readonly ActionList[],
): Promise<(action: string, except?: string) => boolean> {
  const naming = await groupInTurns(lists, ({ actions }) => actions);
  const inside = await groupInTurns(lists, ({ actions }) =>
    actions.flatMap((listed) => [...patternsAround(listed)].filter((key) => patterns.has(key))),
  );
  return (action, except) => {
    const isOther = (list: readonly ActionList[] = []): boolean => list.some(({ name }) => name !== except);
    return (
      isOther(inside.get(action)) || [action, ...patternsAround(action)].some((outer) => isOther(naming.get(outer)))
    );
  };
}

interface WarningForm {
  readonly reasonOf: (text: string) => string;
  readonly most: number;
  /** True if only names that resemble a known one are warned of. */
  readonly onlySimilar?: boolean;
}

async function warnings(
  unknown: ReadonlyMap<string, readonly NamingPolicy[]>,
  candidates: ReadonlySet<string>,
  { reasonOf, most, onlySimilar = false }: WarningForm,
): Promise<NameWarning[]> {
  const compared = MAX_COMPARISONS / candidates.size;
  const nameWarnings: NameWarning[] = [];
  for (const [index, [text, policies]] of [...unknown].slice(0, most).entries()) {
    const near = withRightPrefix(text) ?? (index < compared ? await nearestOf(text, candidates) : null);
    if (onlySimilar && near === null) continue;
    const hint = near === null ? '.' : `: did you mean "${near}"?`;
    nameWarnings.push({ policies, sentence: `"${text}" is ${reasonOf(text)}${hint}` });
  }
  return nameWarnings;
}

/** Groups items as `groupBy` does, divided into turns. */
async function groupInTurns<Item>(
  items: Iterable<Item>,
  keysOf: (item: Item) => Iterable<string>,
): Promise<ReadonlyMap<string, readonly Item[]>> {
  const groups = new Map<string, Item[]>();
  for await (const item of yieldBetween(items)) addToGroups(groups, item, keysOf(item));
  return groups;
}

/** True if a stored warning is about a name. */
export function isNameWarning(warning: string): boolean {
  return /^".*" is .*(?: that no agent (?:has|is capable of)|neither an agent nor a role)/su.test(warning);
}

/** Returns the warning as a plan shows it, for several policies. */
export function planWarning({ policies, sentence }: NameWarning): string {
  const more = policies.length - MAX_LISTED_POLICIES;
  const names = policies.slice(0, MAX_LISTED_POLICIES).map(({ name, version }) => `${name} (version ${version})`);
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}: ${sentence}`;
}

function mostEdits(length: number): number {
  if (length < SHORTEST) return 0;
  return length < SHORT ? 1 : 2;
}

/**
 * Returns the known name that was probably meant: it differs in case or separators, in a letter or two, or in the
 * prefix of a subject (a role named as an agent). Null if there is none.
 */
async function nearestOf(text: string, candidates: Iterable<string>): Promise<string | null> {
  const own = withoutPrefix(text);
  const letters = lettersOf(own);
  const isRole = text.startsWith('role:');
  const most = mostEdits(own.length);
  const distanceTo = (name: string): number => {
    const other = withoutPrefix(name);
    if (lettersOf(other) === letters) return 0;
    return name.startsWith('role:') === isRole ? editsBetween(own, other, most) : Infinity;
  };
  let nearest: string | null = null;
  let least = most + 1;
  const turn = new TimeSlice();
  for (const name of candidates) {
    if (turn.isOver) await turn.next();
    const distance = distanceTo(name);
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

function withoutPrefix(subject: string): string {
  return subject.replace(/^(?:role|agent):/, '');
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[-_. ]/g, '');
}
