import { matchesAction } from '../../../core/values/action-pattern';
import { parseSubject, subjectText } from '../../policies/patterns/subjects';
import { decodedPath, type ResourcePattern } from '../../policies/patterns/resources';
import { groupBy } from '../../../core/values/grouped';
import { REVIEWS } from '../../policies/unknown-names';
import type { PlannedMatch } from './planned-match';
import { ACTIONS, ownKey, Reach, possibleKeys, resourceKeys, setsAround, type ResourceKey } from './axes';
import type { ShadowedPolicyResponse } from '../dto/policy-plan.response';
import { referenceTo } from './policy-effects';

/**
 * Returns policies that never decide: another policy takes precedence, has no conditions or limits, and covers each of
 * their patterns.
 */
export function shadowedPolicies(policies: readonly PlannedMatch[], step: () => void): ShadowedPolicyResponse[] {
  const covering = policies.filter(({ condition }) => condition === null).sort(byPrecedence);
  const byAction = groupBy(covering, ({ rules }) => rules.actions);
  const bySubject = groupBy(covering, ({ rules }) => rules.subjects.map(subjectText));
  const byResource = groupBy<string, PlannedMatch>(covering, possibleKeys);
  return policies.flatMap((policy) => {
    const [action = ''] = policy.rules.actions;
    const [subject = ''] = policy.rules.subjects;
    const [resource] = policy.resources;
    if (resource === undefined) return [];
    const key = ownKey(resource);
    const decodedKey = ownKey(asMeant(resource));
    const candidates = [
      listsOf(byAction, [action, ...ACTIONS.around(action)]),
      listsOf(bySubject, subjectsAround(subject)),
      listsOf(byResource, [key, ...setsAround(key), decodedKey, ...setsAround(decodedKey)]),
    ].sort((left, right) => sizeOf(left) - sizeOf(right))[0];
    const coveringOf = (list: readonly PlannedMatch[]): PlannedMatch | undefined => {
      for (const other of list) {
        step();
        if (other.rank <= policy.rank) return undefined;
        if (covers(other, policy)) return other;
      }
      return undefined;
    };
    const [by] = (candidates ?? []).flatMap((list) => coveringOf(list) ?? []).sort(byPrecedence);
    return by === undefined ? [] : [{ policy: referenceTo(policy), by: referenceTo(by) }];
  });
}

type PolicyLists = readonly (readonly PlannedMatch[])[];

/** Returns the lists of policies that have one of the texts. */
function listsOf(byText: ReadonlyMap<string, readonly PlannedMatch[]>, texts: readonly string[]): PolicyLists {
  return texts.flatMap((text) => {
    const list = byText.get(text);
    return list === undefined ? [] : [list];
  });
}

function sizeOf(lists: PolicyLists): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

function byPrecedence(left: PlannedMatch, right: PlannedMatch): number {
  return right.rank - left.rank || left.index - right.index;
}

/** Type of reviewed resources, and their extent. */
const REVIEWED_TYPE = 'decision';
const REVIEWED = new Reach<ResourceKey>(() => ['Bdecisions'], setsAround);

/**
 * True if a policy may decide on a review of a decision. Policies that require an approval never do, nor do those with
 * conditions.
 */
function isForReviews(policy: PlannedMatch): boolean {
  const { effect, subjects, actions, conditions, limits, onBehalfOf } = policy.rules;
  // Agents review, and without a principal.
  const mayMatch =
    conditions.length + limits.length === 0 &&
    !(effect === 'require_approval' || (effect === 'allow' && onBehalfOf.length > 0)) &&
    subjects.some((subject) => parseSubject(subject).kind !== 'other');
  return (
    mayMatch &&
    actions.some((pattern) => REVIEWS.some((action) => matchesAction(pattern, action))) &&
    resourceKeys(policy, REVIEWED_TYPE).some((key) => REVIEWED.touches(key))
  );
}

function covers(other: PlannedMatch, policy: PlannedMatch): boolean {
  return (
    (other.rules.team === null || other.rules.team === policy.rules.team) &&
    !(other.rules.effect === 'require_approval' && isForReviews(policy)) &&
    policy.rules.actions.every((action) => isAmong(other.rules.actions, action, ACTIONS.around(action))) &&
    policy.rules.subjects.every((subject) => {
      const around = subjectsAround(subject);
      return other.rules.subjects.some((outer) => around.includes(subjectText(outer)));
    }) &&
    coversTypes(other, policy) &&
    policy.resources.every((pattern) => other.resources.some((outer) => coversResource(other, outer, policy, pattern)))
  );
}

function isAmong(listed: readonly string[], text: string, around: Iterable<string>): boolean {
  return listed.includes(text) || [...around].some((outer) => listed.includes(outer));
}

function coversTypes({ types: outer }: PlannedMatch, { types }: PlannedMatch): boolean {
  return outer === null || (types !== null && [...types].every((type) => outer.has(type)));
}

/**
 * True if the other policy covers the resources under every relevant type. Each policy is read by its own effect and
 * types.
 */
function coversResource(
  other: PlannedMatch,
  outer: ResourcePattern,
  policy: PlannedMatch,
  pattern: ResourcePattern,
): boolean {
  const readAlike = other.rules.effect === 'allow' ? pattern : asMeant(pattern);
  const types = policy.types ?? [null, firstOf(pattern), firstOf(outer)];
  return [...types].every((type) => {
    const keys = new Set(resourceKeys({ ...other, resources: [outer] }, type));
    return resourceKeys({ ...policy, resources: [readAlike] }, type).every(
      (key) => keys.has(key) || [...setsAround(key)].some((around) => keys.has(around)),
    );
  });
}

function asMeant(pattern: ResourcePattern): ResourcePattern {
  return pattern.kind === 'everything' ? pattern : { ...pattern, path: decodedPath(pattern.path) };
}

function firstOf(pattern: ResourcePattern): string | null {
  return pattern.kind === 'everything' ? null : (pattern.path.split('/', 1)[0] ?? null);
}

/** Returns the subjects that cover a subject, including itself. */
function subjectsAround(text: string): string[] {
  const name = subjectText(text);
  switch (parseSubject(text).kind) {
    case 'everyone':
      return [name];
    case 'anyAgent':
    case 'anyRole':
      return [name, '*'];
    case 'role':
      return [name, 'role:*', '*'];
    case 'agent':
    case 'agentKind':
      return [name, 'agent:*', '*'];
    case 'other':
      return [name, `${name.slice(0, name.indexOf(':'))}:*`, '*'];
  }
}
