import type { Session } from '../../api/session.js';
import { type Claim, type Entity, type Execution, type GovernanceClient, GovernanceError } from '../../api/types.js';
import type { Case } from './case.js';

/** Entities looked up at first, and in each further step: two requests each, of a hundred a minute by default. */
const FIRST_ENTITIES = 4;
const MORE_ENTITIES = 12;
const ENTITIES_OF_A_NAME = 100;
/** The maximum length of an entity's name in code points. */
const MAX_NAME_LENGTH = 255;
/** Claims shown at first, and with each "Show more". */
const FIRST_CLAIMS = 500;
const MAX_PAGE_SIZE = 1_000;
const ENTITY_ID = /(?<![0-9A-Za-z])ent_[0-9A-HJKMNP-TV-Z]{26}(?![0-9A-Za-z])/g;

/** An entity that a request means: found by its name, or named by an id, which need not be registered. */
export type MentionedEntity = Entity | string;

export interface EntityWithClaims {
  readonly id: string;
  /** Null where none is registered under the id. */
  readonly registered: { readonly entity: Entity; readonly claims: ClaimPage } | null;
}

export interface ClaimPage {
  readonly data: readonly Claim[];
  readonly total: number;
  readonly nextCursor?: string;
  /** The newest claims, the newest first; undefined if the first page has all. */
  readonly latest?: readonly Claim[];
}

/** The entities that the request means: named by its resource, or by their ids anywhere in it. */
export async function loadMentioned(
  session: Session,
  { decision, execution }: Case,
  signal: AbortSignal,
): Promise<readonly MentionedEntity[]> {
  const entities = execution === null ? [] : await byName(session, execution, signal);
  const entityIds = new Set(entities.map(({ id }) => id));
  const ids = new Set(idsIn([execution?.resourceId, execution?.parameters, decision.context]));
  return [...entities, ...[...ids].filter((id) => !entityIds.has(id))];
}

/** Returns the batches of entities that a number of steps look up: earlier batches stay while more are loaded. */
export function batchesOf(mentioned: readonly MentionedEntity[], stepCount: number): (readonly MentionedEntity[])[] {
  const ends = Array.from({ length: stepCount }, (_, look) => FIRST_ENTITIES + look * MORE_ENTITIES);
  const batches = ends.map((end, look) => mentioned.slice(look === 0 ? 0 : end - MORE_ENTITIES, end));
  return batches.filter(({ length }) => length > 0);
}

/** Ids of entities in all texts and names of members, at any depth. */
function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.match(ENTITY_ID) ?? [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => [...idsIn(name), ...idsIn(inside)]);
}

async function byName(
  { patientClient, entityNames }: Session,
  { resourceType, resourceId }: Execution,
  signal: AbortSignal,
): Promise<readonly Entity[]> {
  for (const name of new Set([resourceId, resourceId.split('/').at(-1) ?? ''])) {
    // The service refuses to look for what cannot be a name.
    if (name.trim() === '' || Array.from(name).length > MAX_NAME_LENGTH) continue;
    const query = { type: resourceType, name, limit: ENTITIES_OF_A_NAME };
    const entities: Entity[] = [];
    for await (const entity of patientClient.pages('/api/v1/entities', { query, signal })) entities.push(entity);
    entityNames.learn(entities);
    if (entities.length > 0) return entities;
  }
  return [];
}

/** Loads each mentioned entity with its claims. */
export function loadEntityClaims(
  { patientClient, lookUps, entityNames }: Session,
  mentioned: readonly MentionedEntity[],
  signal: AbortSignal,
): Promise<readonly EntityWithClaims[]> {
  const load = async (mention: MentionedEntity): Promise<EntityWithClaims> => {
    const id = typeof mention === 'string' ? mention : mention.id;
    const entity = typeof mention === 'string' ? await byId(patientClient, id, signal) : mention;
    if (entity === null) return { id, registered: null };
    // Titles show the name that the entity has now.
    entityNames.learn([entity]);
    return { id, registered: { entity, claims: await firstClaims(patientClient, id, signal) } };
  };
  return Promise.all(mentioned.map((mention) => lookUps.take(() => load(mention))));
}

async function byId(client: GovernanceClient, id: string, signal: AbortSignal): Promise<Entity | null> {
  return client.get('/api/v1/entities/{id}', { path: { id }, query: {}, signal }).catch((error: unknown) => {
    // It need not exist: an agent can name any id.
    if (error instanceof GovernanceError && error.status === 404) return null;
    throw error;
  });
}

async function firstClaims(client: GovernanceClient, id: string, signal: AbortSignal): Promise<ClaimPage> {
  const ask = (order: 'asc' | 'desc'): Promise<ClaimPage> =>
    client.get('/api/v1/entities/{id}/claims', { path: { id }, query: { limit: FIRST_CLAIMS, order }, signal });
  const first = await ask('asc');
  return first.nextCursor === undefined ? first : { ...first, latest: (await ask('desc')).data };
}

/** The claims about an entity that follow a cursor. */
export function moreClaims({ patientClient }: Session, id: string, cursor: string): Promise<ClaimPage> {
  return patientClient.get('/api/v1/entities/{id}/claims', { path: { id }, query: { limit: MAX_PAGE_SIZE, cursor } });
}
