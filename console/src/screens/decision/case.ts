import type { Session } from '../../api/session.js';
import {
  type Approvers,
  type Claim,
  type Decision,
  type Entity,
  type Evaluation,
  type Execution,
  GovernanceError,
  type Policy,
} from '../../api/types.js';

/** Agents that may decide, shown by name. */
const MOST_APPROVERS = 100;
const MOST_EXECUTIONS = 6;
/** Claims and entities shown at first, and with each "Show more". */
const FIRST_CLAIMS = 500;
const LONGEST_PAGE = 1_000;
export const MOST_ENTITIES = 4;
const ENTITY_ID = /\bent_[0-9A-HJKMNP-TV-Z]{26}\b/g;

/** What is decided: the decision, and the execution that waits for it where there is one. */
export interface Case {
  readonly decision: Decision;
  readonly execution: Execution | null;
}

/** What the policies say of the action, then and now. */
export interface Why {
  /** Those that asked for approval. */
  readonly policies: readonly Policy[];
  readonly now: Evaluation;
}

export interface KnownEntity {
  readonly entity: Entity;
  readonly claims: ClaimPage;
}

export interface ClaimPage {
  readonly data: readonly Claim[];
  readonly total: number;
  readonly nextCursor?: string;
}

/** The entities that a request means; `remaining` more were not looked up. */
export interface FoundTarget {
  readonly entities: readonly KnownEntity[];
  readonly remaining: number;
}

export interface Past {
  readonly executions: readonly Execution[];
  readonly older: number;
}

export async function loadCase({ client, has }: Session, id: string, signal: AbortSignal): Promise<Case> {
  const decision = await client.get('/api/v1/decisions/{id}', { path: { id }, query: {}, signal });
  const { executionId } = decision;
  if (executionId === null || !has('read', 'review')) return { decision, execution: null };
  const execution = await client.get('/api/v1/executions/{id}', { path: { id: executionId }, query: {}, signal });
  return { decision, execution };
}

/** The first approvers, and the caller wherever on the list they are. */
export async function loadApprovers({ client, me }: Session, id: string, signal: AbortSignal): Promise<Approvers> {
  const ask = (offset: number, limit: number): Promise<Approvers> =>
    client.get('/api/v1/decisions/{id}/approvers', { path: { id }, query: { limit, offset }, signal });
  const isCaller = ({ agentId }: Approvers['data'][number]): boolean => agentId === me.agentId;
  const first = await ask(0, MOST_APPROVERS);
  if (me.agentId === null || first.data.some(isCaller)) return first;
  for (let offset = MOST_APPROVERS; offset < first.total; offset += LONGEST_PAGE) {
    const { data } = await ask(offset, LONGEST_PAGE);
    const caller = data.find(isCaller);
    if (caller !== undefined) return { ...first, data: [...first.data, caller] };
  }
  return first;
}

export async function loadWhy({ client }: Session, execution: Execution, signal: AbortSignal): Promise<Why> {
  const { agentId, action, resourceType, resourceId, parameters } = execution;
  const [now, ...policies] = await Promise.all([
    client.post('/api/v1/policies/evaluate', {
      body: { agent: agentId, action, resourceType, resourceId, parameters, explain: true },
      signal,
    }),
    ...execution.policies.map(({ id }) => client.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal })),
  ]);
  // One answer for one request that stands by itself.
  if ('results' in now) throw new Error('The service answered several evaluations to one.');
  return { now, policies };
}

/** What this agent last did to the same resource; `older` more are not shown. */
export async function loadHistory(
  { client }: Session,
  { id, agentId, resourceType, resourceId }: Execution,
  signal: AbortSignal,
): Promise<Past> {
  const query = { agentId, resourceType, resourceId, limit: MOST_EXECUTIONS, order: 'desc' } as const;
  const { data, total } = await client.get('/api/v1/executions', { query, signal });
  const executions = data.filter((execution) => execution.id !== id);
  // The request itself is one of all.
  return { executions, older: Math.max(0, total - 1 - executions.length) };
}

/** The entities that the request means: named by its resource, or by their ids anywhere in it. */
export async function loadTarget(
  session: Session,
  { decision, execution }: Case,
  most: number,
  signal: AbortSignal,
): Promise<FoundTarget> {
  const text = JSON.stringify([execution?.resourceId, execution?.parameters, decision.context]);
  const ids = [...new Set(text.match(ENTITY_ID) ?? [])];
  const [named, ...found] = await Promise.all([
    execution === null ? { data: [], total: 0 } : byName(session, execution, most, signal),
    ...ids.slice(0, most).map((id) => byId(session, id, signal)),
  ]);
  const entities = [...named.data, ...found.filter((entity) => entity !== null)];
  const distinct = [...new Map(entities.map((entity) => [entity.id, entity])).values()];
  const known = distinct.map(async (entity) => ({
    entity,
    claims: await loadClaims(session, entity.id, null, signal),
  }));
  return {
    entities: await Promise.all(known),
    remaining: Math.max(0, ids.length - most) + named.total - named.data.length,
  };
}

async function byName(
  { client }: Session,
  { resourceType, resourceId }: Execution,
  limit: number,
  signal: AbortSignal,
): Promise<{ readonly data: readonly Entity[]; readonly total: number }> {
  for (const name of new Set([resourceId, resourceId.split('/').at(-1) ?? ''])) {
    const query = { type: resourceType, name, limit };
    const found = await client.get('/api/v1/entities', { query, signal });
    if (found.total > 0) return found;
  }
  return { data: [], total: 0 };
}

async function byId({ client }: Session, id: string, signal: AbortSignal): Promise<Entity | null> {
  return client.get('/api/v1/entities/{id}', { path: { id }, query: {}, signal }).catch((error: unknown) => {
    // It need not exist: an agent can name any id.
    if (error instanceof GovernanceError && error.status === 404) return null;
    throw error;
  });
}

/** The first claims about an entity, or those after a cursor. */
export function loadClaims(
  { client }: Session,
  id: string,
  cursor: string | null,
  signal?: AbortSignal,
): Promise<ClaimPage> {
  const query = cursor === null ? { limit: FIRST_CLAIMS, order: 'asc' as const } : { limit: LONGEST_PAGE, cursor };
  const request = { path: { id }, query };
  return client.get('/api/v1/entities/{id}/claims', signal === undefined ? request : { ...request, signal });
}
