import type { Session } from '../../api/session.js';
import type { Approvers, Claim, Decision, Entity, Evaluation, Execution, Policy } from '../../api/types.js';

/** So many agents that may decide are shown by name. */
const MOST_APPROVERS = 100;
const MOST_EXECUTIONS = 6;
const MOST_CLAIMS = 500;
const MOST_ENTITIES = 4;
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
  readonly claims: readonly Claim[];
}

export async function loadCase({ client, has }: Session, id: string, signal: AbortSignal): Promise<Case> {
  const decision = await client.get('/api/v1/decisions/{id}', { path: { id }, query: {}, signal });
  const { executionId } = decision;
  if (executionId === null || !has('read', 'review')) return { decision, execution: null };
  const execution = await client.get('/api/v1/executions/{id}', { path: { id: executionId }, query: {}, signal });
  return { decision, execution };
}

export function loadApprovers({ client }: Session, id: string, signal: AbortSignal): Promise<Approvers> {
  return client.get('/api/v1/decisions/{id}/approvers', { path: { id }, query: { limit: MOST_APPROVERS }, signal });
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

/** What this agent last did to the same resource. */
export async function loadHistory(
  { client }: Session,
  { id, agentId, resourceType, resourceId }: Execution,
  signal: AbortSignal,
): Promise<readonly Execution[]> {
  const query = { agentId, resourceType, resourceId, limit: MOST_EXECUTIONS, order: 'desc' } as const;
  const { data } = await client.get('/api/v1/executions', { query, signal });
  return data.filter((execution) => execution.id !== id);
}

/** The entities that the request means: named by its resource, or by their ids anywhere in it. */
export async function loadTarget(
  session: Session,
  { decision, execution }: Case,
  signal: AbortSignal,
): Promise<readonly KnownEntity[]> {
  const text = JSON.stringify([execution?.resourceId, execution?.parameters, decision.context]);
  const ids = [...new Set(text.match(ENTITY_ID) ?? [])].slice(0, MOST_ENTITIES);
  const named = execution === null ? [] : await byName(session, execution, signal);
  const found = await Promise.all(ids.map((id) => byId(session, id, signal)));
  const entities = [...named, ...found.filter((entity) => entity !== null)];
  const distinct = [...new Map(entities.map((entity) => [entity.id, entity])).values()].slice(0, MOST_ENTITIES);
  return Promise.all(distinct.map(async (entity) => ({ entity, claims: await claimsOf(session, entity, signal) })));
}

async function byName(
  { client }: Session,
  { resourceType, resourceId }: Execution,
  signal: AbortSignal,
): Promise<readonly Entity[]> {
  for (const name of new Set([resourceId, resourceId.split('/').at(-1) ?? ''])) {
    const query = { type: resourceType, name, limit: MOST_ENTITIES };
    const { data } = await client.get('/api/v1/entities', { query, signal });
    if (data.length > 0) return data;
  }
  return [];
}

async function byId({ client }: Session, id: string, signal: AbortSignal): Promise<Entity | null> {
  // It need not exist: an id in a request is the agent's word.
  return client.get('/api/v1/entities/{id}', { path: { id }, query: {}, signal }).catch(() => null);
}

async function claimsOf({ client }: Session, { id }: Entity, signal: AbortSignal): Promise<readonly Claim[]> {
  const query = { limit: MOST_CLAIMS, order: 'asc' } as const;
  return (await client.get('/api/v1/entities/{id}/claims', { path: { id }, query, signal })).data;
}
