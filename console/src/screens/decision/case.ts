import { withStandIns } from '../../../../clients/typescript/src/replaced-values.js';
import type { Session } from '../../api/session.js';
import type { Approvers, Decision, Evaluation, Execution, Policy } from '../../api/types.js';

/** Maximum number of policies that are listed as nearly allowing it. */
export const MAX_NEAR = 5;
/** Number of approvers listed at first. */
export const FIRST_APPROVERS = 100;
const MAX_EXECUTIONS = 6;
/** The longest page of a list. */
export const MAX_PAGE_SIZE = 1_000;

/** The case to decide: the decision, and the execution that waits for it, if any. */
export interface Case {
  readonly decision: Decision;
  readonly execution: Execution | null;
  /** True if there is an execution that the caller may not see. */
  readonly isWithheld: boolean;
}

/** The members of a policy that make up its rule. Others, such as `warnings`, depend on the other policies, too. */
export type Rule = Pick<
  Policy,
  'id' | 'name' | 'version' | 'description' | 'effect' | 'conditions' | 'onBehalfOf' | 'approval'
>;
type Explanation = NonNullable<Evaluation['explanation']>;

/** The verdict of the policies about the action, then and now. */
export interface Why {
  /** The policies that required the approval. */
  readonly policies: readonly Rule[];
  /**
   * The answer about this action alone. It lacks `policySet`, the number of policies in force and policies that would
   * not allow the action anyway, because these also change with unrelated policies. Null if the action was on behalf of
   * somebody for whom this caller may not ask.
   */
  readonly now:
    | (Pick<Evaluation, 'effect' | 'reason'> & {
        readonly matched: Explanation['matched'];
        /** Policies that nearly allow it; the first of them with their rules. */
        readonly nearest: readonly (Explanation['nearest'][number] & { readonly rule: Rule | null })[];
        /** The used limits of policies that would allow it otherwise. */
        readonly limits: Explanation['limits'];
      })
    | null;
}

export interface Past {
  readonly executions: readonly Execution[];
  readonly older: number;
}

export async function loadCase({ client, has }: Session, id: string, signal: AbortSignal): Promise<Case> {
  const decision = await client.get('/api/v1/decisions/{id}', { path: { id }, query: {}, signal });
  const { executionId } = decision;
  if (executionId === null) return { decision, execution: null, isWithheld: false };
  if (!has('read', 'execute', 'review')) return { decision, execution: null, isWithheld: true };
  const execution = await client.get('/api/v1/executions/{id}', { path: { id: executionId }, query: {}, signal });
  return { decision, execution, isWithheld: false };
}

/** The first `most` approvers, and the caller, wherever they are on the list. Null if the caller may not see them. */
export async function loadApprovers(
  { client, me, has }: Session,
  id: string,
  most: number,
  signal: AbortSignal,
): Promise<Approvers | null> {
  if (!has('read', 'review')) return null;
  const ask = (offset: number, limit: number): Promise<Approvers> =>
    client.get('/api/v1/decisions/{id}/approvers', { path: { id }, query: { limit, offset }, signal });
  const isCaller = ({ agentId }: Approvers['data'][number]): boolean => agentId === me.agentId;
  const first = await ask(0, FIRST_APPROVERS);
  const data = [...first.data];
  for (let offset = FIRST_APPROVERS; offset < first.total; offset += MAX_PAGE_SIZE) {
    const isLookingForCaller = me.agentId !== null && !data.some(isCaller);
    if (offset >= most && !isLookingForCaller) break;
    const page = await ask(offset, MAX_PAGE_SIZE);
    data.push(...page.data.filter((approver) => offset < most || isCaller(approver)));
  }
  return { ...first, data };
}

export async function loadWhy(
  { patientClient, has, me }: Session,
  execution: Execution,
  signal: AbortSignal,
): Promise<Why> {
  const { agentId, action, resourceType, resourceId } = execution;
  const parameters = withStandIns(execution.parameters);
  // The type from the API document lacks null.
  const onBehalfOf: Execution['onBehalfOf'] | null = execution.onBehalfOf;
  const forWhom = { ...(onBehalfOf && { onBehalfOf }), ...(execution.run && { run: execution.run }) };
  const request = { agent: agentId, action, resourceType, resourceId, parameters, ...forWhom };
  const mayEvaluate = onBehalfOf === null || me.agentId === null || (has('review') && me.agentId !== agentId);
  const ruleWith = async (id: string): Promise<Rule> =>
    ruleOf(await patientClient.get('/api/v1/policies/{id}', { path: { id }, query: {}, signal }));
  const [answer, ...policies] = await Promise.all([
    mayEvaluate
      ? patientClient.post('/api/v1/policies/evaluate', { body: { ...request, explain: true }, signal })
      : null,
    ...execution.policies.map(({ id }) => ruleWith(id)),
  ]);
  // A single request has a single answer.
  if (answer === null) return { now: null, policies };
  if ('results' in answer) throw new Error('The service answered several evaluations to one.');
  const { effect, reason, explanation } = answer;
  const limits = explanation?.limits ?? [];
  const near = (explanation?.nearest ?? []).filter(({ policy }) => policy.effect === 'allow');
  const nearest = await Promise.all(
    near.map(async (policy, index) => ({
      ...policy,
      rule: index < MAX_NEAR ? await ruleWith(policy.policy.id) : null,
    })),
  );
  return { now: { effect, reason, matched: explanation?.matched ?? [], nearest, limits }, policies };
}

function ruleOf({ id, name, version, description, effect, conditions, onBehalfOf, approval }: Policy): Rule {
  return { id, name, version, description, effect, conditions, onBehalfOf, approval };
}

/** Loads what this agent last did to the same resource; `older` more are not shown. */
export async function loadHistory(
  { client }: Session,
  { id, agentId, resourceType, resourceId }: Execution,
  signal: AbortSignal,
): Promise<Past> {
  const query = { agentId, resourceType, resourceId, limit: MAX_EXECUTIONS, order: 'desc' } as const;
  const { data, total } = await client.get('/api/v1/executions', { query, signal });
  const executions = data.filter((execution) => execution.id !== id);
  // The total includes the request itself.
  return { executions, older: Math.max(0, total - 1 - executions.length) };
}
