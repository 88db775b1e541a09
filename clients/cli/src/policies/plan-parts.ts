import type { Schemas } from '../../../typescript/src/index.js';

type Effect = Schemas['PolicyPlanResponse']['effects'][number];
export type Patterns = Effect['actions'];
type Covers = (outer: string, inner: string) => boolean;

/** A policy whose conditions have to let it match, or not to. */
export interface PartCondition {
  readonly policy: string;
  readonly holds: boolean;
}

/** Requests: those of these subjects, for these actions, on these resources. */
export interface PlanPart {
  readonly when: readonly PartCondition[];
  readonly subjects: readonly string[];
  readonly resources: Patterns;
  readonly resourceTypes: Patterns;
  readonly actions: Patterns;
}

/** The place of an action. */
export type Place = Pick<PlanPart, 'resources' | 'resourceTypes'>;

/** Unites two parts that differ in one member only, and returns that member; null if no single part has both. */
type Union = (left: PlanPart, right: PlanPart) => Partial<PlanPart> | null;

/** Maximum number of comparisons of patterns; beyond it, two parts stay apart. */
const MAX_COMPARED = 1_000_000;

const UNIONS: readonly (readonly [keyof PlanPart, Union])[] = [
  ['when', (left, right) => withEither(left.when, right.when)],
  ['subjects', (left, right) => ({ subjects: [...new Set([...left.subjects, ...right.subjects])].sort() })],
  ['resources', (left, right) => memberOf('resources', unionOf(left.resources, right.resources, coversResource))],
  [
    'resourceTypes',
    (left, right) => memberOf('resourceTypes', unionOf(left.resourceTypes, right.resourceTypes, coversType)),
  ],
  ['actions', (left, right) => memberOf('actions', unionOf(left.actions, right.actions, coversAction))],
];

/**
 * Returns the same requests in fewer parts. Two parts become one if they differ in one respect only: if they differed
 * in two, the smallest part that has both would have requests of neither.
 */
export function planParts(effects: readonly Effect[]): PlanPart[] {
  let parts = effects.map(partOf);
  let before: number;
  do {
    before = parts.length;
    for (const [respect, union] of UNIONS) parts = unite(parts, respect, union);
  } while (parts.length < before);
  return parts;
}

function partOf({ subjects, actions, resourceTypes, resources, when: { hold, fail } }: Effect): PlanPart {
  const conditions = (policies: Effect['when']['hold'], holds: boolean): PartCondition[] =>
    policies.map(({ name, version }) => ({ policy: `${name} ${version}`, holds }));
  const when = [...conditions(hold, true), ...conditions(fail, false)];
  when.sort((left, right) => (left.policy < right.policy ? -1 : 1));
  return { when, subjects: [...subjects].sort(), resources, resourceTypes, actions };
}

function unite(parts: readonly PlanPart[], respect: keyof PlanPart, union: Union): PlanPart[] {
  const alike = new Map<string, PlanPart[]>();
  for (const part of parts) {
    const key = JSON.stringify({ ...part, [respect]: null });
    const apart = alike.get(key) ?? [];
    const index = apart.findIndex((candidate) => union(candidate, part) !== null);
    const existing = apart[index];
    if (existing === undefined) apart.push(part);
    else apart[index] = { ...existing, ...union(existing, part) };
    alike.set(key, apart);
  }
  return [...alike.values()].flat();
}

function memberOf(
  respect: 'resources' | 'resourceTypes' | 'actions',
  patterns: Patterns | null,
): Partial<PlanPart> | null {
  return patterns === null ? null : { [respect]: patterns };
}

/**
 * Unites two lists of conditions that differ in one policy only: whether its conditions hold makes no difference then.
 */
function withEither(left: readonly PartCondition[], right: readonly PartCondition[]): Partial<PlanPart> | null {
  if (left.length !== right.length || left.some(({ policy }, index) => policy !== right[index]?.policy)) return null;
  const same = left.filter(({ holds }, index) => holds === right[index]?.holds);
  return left.length - same.length === 1 ? { when: same } : null;
}

function unionOf(first: Patterns, second: Patterns, covers: Covers): Patterns | null {
  const all = [...new Set([...first.in, ...second.in])];
  const except = [...new Set([...first.except, ...second.except])].filter((pattern) => !all.includes(pattern));
  if (all.length * Math.max(all.length, except.length) > MAX_COMPARED) return null;
  // One part has an exception that contains a pattern of the other part.
  if (except.some((exception) => all.some((pattern) => covers(exception, pattern)))) return null;
  return { in: all.filter((pattern) => !all.some((wider) => wider !== pattern && covers(wider, pattern))), except };
}

/** Returns places with fewer words: what one place excepts and another has, or what both have, is named once. */
export function shortPlaces(places: readonly Place[]): Place[] {
  const wide = places.map((place) => {
    const isElsewhere = (type: string): boolean =>
      places.some((otherPlace) => hasType(otherPlace, type) && isInside(place.resources, otherPlace.resources));
    return isAny(place.resourceTypes) ? withoutExcept(place, (type) => !isElsewhere(type)) : place;
  });
  return wide.flatMap((place) => {
    const otherPlaces = wide.filter((otherPlace) => otherPlace !== place && isAny(otherPlace.resourceTypes));
    if (isAny(place.resourceTypes)) return place;
    const uncovered = place.resources.in.filter((pattern) => {
      const part = { in: [pattern], except: place.resources.except };
      return !otherPlaces.some(
        (otherPlace) =>
          place.resourceTypes.in.every((type) => hasType(otherPlace, type)) && isInside(part, otherPlace.resources),
      );
    });
    return uncovered.length === 0 ? [] : { ...place, resources: { ...place.resources, in: uncovered } };
  });
}

function withoutExcept(place: Place, isKept: (type: string) => boolean): Place {
  const { in: all, except } = place.resourceTypes;
  return { ...place, resourceTypes: { in: all, except: except.filter(isKept) } };
}

function hasType({ resourceTypes }: Place, type: string): boolean {
  return resourceTypes.in.some((pattern) => coversType(pattern, type)) && !resourceTypes.except.includes(type);
}

/** True if each resource of one set is in the other. */
function isInside(inner: Patterns, outer: Patterns): boolean {
  if (inner.in.length * Math.max(outer.in.length, outer.except.length * inner.except.length) > MAX_COMPARED)
    return false;
  return inner.in.every(
    (pattern) =>
      outer.in.some((wider) => coversResource(wider, pattern)) &&
      outer.except.every(
        (exception) =>
          !(coversResource(exception, pattern) || coversResource(pattern, exception)) ||
          inner.except.some((wider) => coversResource(wider, exception)),
      ),
  );
}

/** True if the patterns match everything, except their exceptions. */
export function isAny({ in: patterns }: Patterns): boolean {
  return patterns.includes('*');
}

function coversType(outer: string, inner: string): boolean {
  return outer === inner || outer === '*';
}

function coversAction(outer: string, inner: string): boolean {
  return outer === inner || (outer.endsWith('*') && inner.startsWith(outer.slice(0, -1)));
}

/** Sets of resources in a plan are nested or have nothing in common. */
function coversResource(outer: string, inner: string): boolean {
  if (outer === inner || outer === '*') return true;
  if (inner === '*') return false;
  if (outer === '+') return inner === '/+' || !inner.includes('/');
  if (outer === '://') return inner.includes('://');
  return outer.endsWith('/*') && inner.startsWith(outer.slice(0, -1));
}
