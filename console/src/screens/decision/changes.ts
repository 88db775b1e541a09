import { type Change, isEqual } from '../../api/load.js';
import type { Claim, Entity } from '../../api/types.js';
import { counted, showInvisible } from '../../ui/format.js';
import type { Difference, Scrutiny } from './confirm.js';
import { evidenceIn, isDoubtful } from './evidence.js';
import type { ClaimPage, EntityWithClaims, MentionedEntity } from './mentioned-entities.js';

/** Whether the entities that a request means are as they are shown. */
export function areAsMeant(now: readonly MentionedEntity[], shown: readonly MentionedEntity[] | null): boolean {
  return shown !== null && isEqual(now.map(shownOf), shown.map(shownOf));
}

/** The same for what is known about them, as far as the scrutiny asks. `given`: the values in the request, as text. */
export function isAsKnown(
  now: readonly EntityWithClaims[],
  shown: readonly EntityWithClaims[] | null,
  scrutiny: Scrutiny,
  given: ReadonlySet<string>,
): boolean {
  if (shown === null) return false;
  if (scrutiny === 'everything') return isEqual(now.map(allOf), shown.map(allOf));
  return knownDifferences({ shown, now }, given).every(({ isAddition }) => isAddition);
}

/** What a person sees of an entity. */
function shownOf(meant: MentionedEntity): unknown {
  return typeof meant === 'string' ? meant : [meant.id, meant.type, meant.name, meant.properties];
}

function allOf({ id, found }: EntityWithClaims): unknown {
  return found === null
    ? id
    : [shownOf(found.entity), found.claims.total, newestOf(found.claims), idsOf(found.claims.data)];
}

function idsOf(claims: readonly Claim[]): readonly string[] {
  return claims.map(({ id }) => id);
}

/** Whether all claims that were shown are still made, and none between two looks can be missing. */
function isContinued(before: ClaimPage, now: ClaimPage): boolean {
  const isKnown = now.latest === undefined || idsOf(now.latest).includes(newestOf(before));
  return isKnown && before.data.every(({ id }, index) => now.data[index]?.id === id);
}

/** Which values of the request the claims contain, and whether others contradict them or are more certain. */
function usesOf({ data, latest }: ClaimPage, given: ReadonlySet<string>): readonly string[] {
  const all = new Map([...data, ...(latest ?? [])].map((claim) => [claim.id, claim]));
  const uses = evidenceIn([...all.values()], given).flatMap((evidence) =>
    evidence.used.map((claim) =>
      JSON.stringify([evidence.predicate, claim.value, evidence.values > 1, isDoubtful(claim, evidence)]),
    ),
  );
  return [...new Set(uses)].sort();
}

/** The newest of all claims about an entity; they are in the order in which they were made. */
export function newestOf({ data, latest }: ClaimPage): string {
  return (latest?.[0] ?? data.at(-1))?.id ?? '';
}

/** What is different about the entities that a request means. */
export function meantDifferences({ shown, now }: Change<readonly MentionedEntity[]>): readonly Difference[] {
  const [before, after] = [entitiesById(shown ?? []), entitiesById(now)];
  const gone = [...before.values()].filter(({ id }) => !after.has(id));
  const words = [
    ...[...after.values()].flatMap((one) => entityChanges(before.get(one.id), one)),
    ...gone.map(({ name }) => `${showInvisible(name)}, which it no longer means`),
  ];
  return (words.length === 0 ? ['which entities the request means'] : words).map(asChange);
}

/** What is different about what is known. `given`: the values in the request, as text. */
export function knownDifferences(
  { shown, now }: Change<readonly EntityWithClaims[]>,
  given: ReadonlySet<string>,
): readonly Difference[] {
  const differences = now.flatMap(({ id, found }, index) => {
    const before = shown?.[index]?.found ?? null;
    if (found === null) return before === null ? [] : [asChange(`${id}, which is no longer registered`)];
    return [
      ...entityChanges(before?.entity, found.entity).map(asChange),
      ...claimDifferences(before?.claims, found, given),
    ];
  });
  const isUnnamed = differences.length === 0 && !isEqual(now.map(allOf), shown?.map(allOf));
  return isUnnamed ? [asChange('what is known about the target')] : differences;
}

function asChange(words: string): Difference {
  return { words, isAddition: false };
}

function entitiesById(meant: readonly MentionedEntity[]): ReadonlyMap<string, Entity> {
  return new Map(meant.flatMap((one) => (typeof one === 'string' ? [] : [[one.id, one] as const])));
}

function entityChanges(before: Entity | undefined, now: Entity): readonly string[] {
  const name = showInvisible(now.name);
  if (before === undefined) return [`${name}, which was not registered`];
  const [old, current] = [before.properties, now.properties] as const;
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const properties = names.filter((property) => !isEqual(old[property], current[property])).map(showInvisible);
  const renamed = before.name === now.name ? [] : [`the name of ${name}, formerly ${showInvisible(before.name)}`];
  const retyped = before.type === now.type ? [] : [`the type of ${name}, formerly ${showInvisible(before.type)}`];
  return [...renamed, ...retyped, ...properties.map((property) => `${property} of ${name}`)];
}

function claimDifferences(
  before: ClaimPage | undefined,
  { entity, claims }: NonNullable<EntityWithClaims['found']>,
  given: ReadonlySet<string>,
): readonly Difference[] {
  if (before === undefined) return [];
  const newest = newestOf(before);
  const fresh = [...(claims.latest ?? claims.data)].filter(({ id }) => id > newest).length;
  const gone = before.total + fresh - claims.total;
  const about = `about ${showInvisible(entity.name)}`;
  const isAddition = gone <= 0 && isContinued(before, claims) && isEqual(usesOf(before, given), usesOf(claims, given));
  return [
    ...(fresh === 0 ? [] : [{ words: `${counted(fresh, 'new claim')} ${about}`, isAddition }]),
    ...(gone <= 0 ? [] : [asChange(`${counted(gone, 'withdrawn claim')} ${about}`)]),
  ];
}
