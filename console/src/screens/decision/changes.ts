import { type Change, isEqual } from '../../api/load.js';
import type { Claim, Entity } from '../../api/types.js';
import { countText, showInvisible } from '../../ui/format.js';
import type { Difference, Scrutiny } from './confirm.js';
import { evidenceIn, isDoubtful } from './evidence.js';
import type { ClaimPage, EntityWithClaims, MentionedEntity } from './mentioned-entities.js';

/** True if the entities that a request means are unchanged. */
export function areMentionsEqual(now: readonly MentionedEntity[], before: readonly MentionedEntity[] | null): boolean {
  return before !== null && isEqual(now.map(visibleMembers), before.map(visibleMembers));
}

/**
 * True if the claims about the entities are unchanged for the scrutiny.
 * @param requestValues the values in the request, as text
 */
export function areClaimsEqual(
  now: readonly EntityWithClaims[],
  before: readonly EntityWithClaims[] | null,
  scrutiny: Scrutiny,
  requestValues: ReadonlySet<string>,
): boolean {
  if (before === null) return false;
  if (scrutiny === 'everything') return isEqual(now.map(allMembers), before.map(allMembers));
  return claimsDifferences({ before, now }, requestValues).every(({ isAddition }) => isAddition);
}

/** The members of an entity that a person sees. */
function visibleMembers(mention: MentionedEntity): unknown {
  return typeof mention === 'string' ? mention : [mention.id, mention.type, mention.name, mention.properties];
}

function allMembers({ id, registered }: EntityWithClaims): unknown {
  return registered === null
    ? id
    : [
        visibleMembers(registered.entity),
        registered.claims.total,
        newestOf(registered.claims),
        idsOf(registered.claims.data),
      ];
}

function idsOf(claims: readonly Claim[]): readonly string[] {
  return claims.map(({ id }) => id);
}

/** True if all claims that were shown still exist, and none between two requests can be missing. */
function isContinued(before: ClaimPage, now: ClaimPage): boolean {
  const isKnown = now.latest === undefined || idsOf(now.latest).includes(newestOf(before));
  return isKnown && before.data.every(({ id }, index) => now.data[index]?.id === id);
}

/**
 * Describes the values of the request that the claims contain, and whether other claims contradict them or are more
 * certain.
 */
function usesOf({ data, latest }: ClaimPage, requestValues: ReadonlySet<string>): readonly string[] {
  const all = new Map([...data, ...(latest ?? [])].map((claim) => [claim.id, claim]));
  const uses = evidenceIn([...all.values()], requestValues).flatMap((evidence) =>
    evidence.used.map((claim) =>
      JSON.stringify([evidence.predicate, claim.value, evidence.values > 1, isDoubtful(claim, evidence)]),
    ),
  );
  return [...new Set(uses)].sort();
}

/** Returns the id of the newest claim about an entity; claims are in the order in which they were made. */
export function newestOf({ data, latest }: ClaimPage): string {
  return (latest?.[0] ?? data.at(-1))?.id ?? '';
}

/** Lists the differences of the entities that a request means. */
export function mentionDifferences({
  before: previous,
  now,
}: Change<readonly MentionedEntity[]>): readonly Difference[] {
  const [before, after] = [entitiesById(previous ?? []), entitiesById(now)];
  const removed = [...before.values()].filter(({ id }) => !after.has(id));
  const words = [
    ...[...after.values()].flatMap((entity) => entityChanges(before.get(entity.id), entity)),
    ...removed.map(({ name }) => `${showInvisible(name)}, which it no longer means`),
  ];
  return (words.length === 0 ? ['which entities the request means'] : words).map(asChange);
}

/** Lists the differences of the claims. @param requestValues the values in the request, as text */
export function claimsDifferences(
  { before: previous, now }: Change<readonly EntityWithClaims[]>,
  requestValues: ReadonlySet<string>,
): readonly Difference[] {
  const differences = now.flatMap(({ id, registered }, index) => {
    const before = previous?.[index]?.registered ?? null;
    if (registered === null) return before === null ? [] : [asChange(`${id}, which is no longer registered`)];
    return [
      ...entityChanges(before?.entity, registered.entity).map(asChange),
      ...claimDifferences(before?.claims, registered, requestValues),
    ];
  });
  const isUnnamed = differences.length === 0 && !isEqual(now.map(allMembers), previous?.map(allMembers));
  return isUnnamed ? [asChange('what is known about the target')] : differences;
}

function asChange(words: string): Difference {
  return { words, isAddition: false };
}

function entitiesById(mentioned: readonly MentionedEntity[]): ReadonlyMap<string, Entity> {
  return new Map(mentioned.flatMap((mention) => (typeof mention === 'string' ? [] : [[mention.id, mention] as const])));
}

function entityChanges(before: Entity | undefined, now: Entity): readonly string[] {
  const name = showInvisible(now.name);
  if (before === undefined) return [`${name}, which was not registered`];
  const [old, current] = [before.properties, now.properties] as const;
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const properties = names.filter((property) => !isEqual(old[property], current[property])).map(showInvisible);
  const nameChanges = before.name === now.name ? [] : [`the name of ${name}, formerly ${showInvisible(before.name)}`];
  const typeChanges = before.type === now.type ? [] : [`the type of ${name}, formerly ${showInvisible(before.type)}`];
  return [...nameChanges, ...typeChanges, ...properties.map((property) => `${property} of ${name}`)];
}

function claimDifferences(
  before: ClaimPage | undefined,
  { entity, claims }: NonNullable<EntityWithClaims['registered']>,
  requestValues: ReadonlySet<string>,
): readonly Difference[] {
  if (before === undefined) return [];
  const newest = newestOf(before);
  const fresh = [...(claims.latest ?? claims.data)].filter(({ id }) => id > newest).length;
  const withdrawnCount = before.total + fresh - claims.total;
  const objectText = `about ${showInvisible(entity.name)}`;
  const isAddition =
    withdrawnCount <= 0 &&
    isContinued(before, claims) &&
    isEqual(usesOf(before, requestValues), usesOf(claims, requestValues));
  return [
    ...(fresh === 0 ? [] : [{ words: `${countText(fresh, 'new claim')} ${objectText}`, isAddition }]),
    ...(withdrawnCount <= 0 ? [] : [asChange(`${countText(withdrawnCount, 'withdrawn claim')} ${objectText}`)]),
  ];
}
