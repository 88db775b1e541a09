import type { Session } from '../../api/session.js';
import type { Approvers, Decision, Evaluation, Execution, Policy } from '../../api/types.js';

/** Agents that may decide, shown by name. */
const MOST_APPROVERS = 100;
const MOST_EXECUTIONS = 6;
const LONGEST_PAGE = 1_000;

/** What is decided: the decision, and the execution that waits for it where there is one. */
export interface Case {
  readonly decision: Decision;
  readonly execution: Execution | null;
}

/** What the policies say of the action, then and now. */
export interface Why {
  /** Those that asked for approval. */
  readonly policies: readonly Policy[];
  /** Without what other policies change of an answer. */
  readonly now: Pick<Evaluation, 'effect' | 'reason'> & { readonly explanation: Evaluation['explanation'] | null };
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
  const [answer, ...policies] = await Promise.all([
    client.post('/api/v1/policies/evaluate', {
      body: { agent: agentId, action, resourceType, resourceId, parameters, explain: true },
      signal,
    }),
    ...execution.policies.map(({ id }) => client.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal })),
  ]);
  // One answer for one request that stands by itself.
  if ('results' in answer) throw new Error('The service answered several evaluations to one.');
  const { effect, reason, explanation = null } = answer;
  return { now: { effect, reason, explanation }, policies };
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
