import { type ApprovalRequirement, approversKey, sumOfApprovals } from '../policies/approval/approval-requirement';
import { DECISION, type Decision, proposedDecision, proposedNote } from '../decisions/decision.entity';
import { isExpired, rejectionEnd, rejectionWords } from '../decisions/decision-rules';
import { cancelDecision, expireDecision } from '../decisions/decision-settlement';
import { conflict, type DomainError, permissionDenied, requirePresent } from '../../core/errors/domain-error';
import { cancelApproved, expireApproval, isApprovalOver } from '../executions/execution-rules';
import { decidedNote, type DecisionBasis, EXECUTION, type Execution } from '../executions/execution.entity';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { RowQuery } from '../../ledger/records/row-query';
import { jsonLength } from '../../core/json/json-length';
import { addDuration } from '../../core/values/duration';
import type { NewExecution } from './new-execution';
import { requiredExecution } from '../decisions/grants/grant-changes';
import type { CoveringGrant } from '../decisions/grants/grant-finder';

/** Most executions of one action that are examined, the newest first. */
const MAX_EXECUTIONS = 100;
const TITLE_LENGTH = 500;
/**
 * Most characters of the records that one commit cancels: executions with their parameters, and decisions with their
 * approvers, each in an entry.
 */
export const MAX_CANCELLED_CHARACTERS = 4 * 1024 * 1024;

const OF_REQUESTS = ['outcome', 'decisionId', 'approvedUntil'] as const;

/**
 * Members by which one of several executions is chosen as the result. Parameters are not read, because they may be
 * large.
 */
type RequestRow = Pick<Execution, (typeof OF_REQUESTS)[number] | 'id' | 'createdSequence'>;

/** The requirement of the policies, its basis, and the bounds that apply to the request. */
interface ApprovalTerms {
  readonly requirement: ApprovalRequirement;
  readonly basis: DecisionBasis;
  /** Maximum number of the agent's requests that wait at a time. */
  readonly maxPending: number;
  /** Finds the grant that serves the request. */
  readonly grant: () => Promise<CoveringGrant | null>;
}

/**
 * Result of a request for approval: an execution that waits or is approved, and whether it is new; the refusal of the
 * agent; or the grant that makes an approval unnecessary, with the open requests of all runs that it covers.
 */
export type ApprovalRequestResult =
  | { readonly execution: Execution; readonly isNew: boolean }
  | { readonly refusal: DomainError; readonly decisionId: string | null }
  | { readonly serving: CoveringGrant; readonly waiting: readonly OpenRequest[] };

/**
 * Requests the approval of an action. A repeated request of the same run gets the current result. A rejection is
 * binding in every run until its decision would have expired, at most for a day. A grant precedes a request that still
 * waits.
 * @throws CONFLICT if the agent has too many requests pending, or too large ones for the same action, with nothing
 *   written
 */
export async function requestApproval(
  transaction: ServiceTransaction,
  newExecution: NewExecution,
  terms: ApprovalTerms,
): Promise<ApprovalRequestResult> {
  // All reads come before the changes, because reading settles what is due.
  const { actionHash, run } = newExecution;
  const { requirement, maxPending, grant } = terms;
  const required = approversKey(requirement.approvers);
  const pending = await requestsFor(transaction, { actionHash, run, outcome: 'pending_approval' });
  const approved = await requestsFor(transaction, { actionHash, run, outcome: 'approved' });
  const rejected = await requestsFor(transaction, { actionHash, outcome: 'rejected' });
  const pendingOfAgent = await pendingRequests(transaction, newExecution.agentId, maxPending);
  const hasRoom = await canBeCancelledTogether(transaction, newExecution, requirement);
  const serving = await grant();
  const requestsOfAllRuns = serving === null ? [] : await allRequestsFor(transaction, newExecution);
  const own = new Map([...pending, ...approved].map((request) => [request.id, request]));
  const open = await openRequests(transaction, [
    ...own.values(),
    ...requestsOfAllRuns.filter(({ id }) => !own.has(id)),
  ]);
  const same = open.filter(
    ({ request, decision }) => own.has(request.id) && approversKey(decision.approvers ?? []) === required,
  );
  const approval = same.find(({ request }) => request.outcome === 'approved');
  if (approval !== undefined)
    return { execution: await requiredExecution(transaction, approval.request.id), isNew: false };
  const rejection = await rejectionAmong(transaction, rejected);
  if (rejection !== undefined) return rejection;
  if (serving !== null) return { serving, waiting: open };
  const [waiting] = same;
  if (waiting !== undefined)
    return { execution: await requiredExecution(transaction, waiting.request.id), isNew: false };
  if (pendingOfAgent >= maxPending)
    throw conflict(
      `The agent has ${pendingOfAgent} requests that wait for approval, and the maximum is ${maxPending} (MAX_PENDING_APPROVALS). ` +
        'Have some of them decided, or cancel some.',
    );
  if (!hasRoom)
    throw conflict(
      'The same action waits or is approved in other runs, and its parameters and approvers are too large to be asked for in another one: at most ' +
        `${MAX_CANCELLED_CHARACTERS} characters together. Have some of these requests decided, or cancel some.`,
    );
  return { execution: insertRequest(transaction, newExecution, terms), isNew: true };
}

/**
 * Returns the requests for approval of an action that are still pending or approved, in any run, after due ones were
 * settled.
 */
export async function openRequestsFor(
  transaction: ServiceTransaction,
  action: Pick<NewExecution, 'actionHash'>,
): Promise<OpenRequest[]> {
  const { actionHash } = action;
  const results = await transaction.runQueries(openRequestQueries(transaction, actionHash));
  if (results.every((rows) => rows.length === 0)) return [];
  return openRequests(transaction, await allRequestsFor(transaction, action));
}

async function allRequestsFor(
  transaction: ServiceTransaction,
  { actionHash }: Pick<NewExecution, 'actionHash'>,
): Promise<RequestRow[]> {
  const pending = await requestsFor(transaction, { actionHash, outcome: 'pending_approval' });
  return [...pending, ...(await requestsFor(transaction, { actionHash, outcome: 'approved' }))];
}

/** Returns the queries that {@link openRequestsFor} runs first; usually they find no rows. */
export function openRequestQueries(transaction: Pick<ServiceTransaction, 'presence'>, actionHash: string): RowQuery[] {
  const outcomes = ['pending_approval', 'approved'] as const;
  return outcomes.map((outcome) => transaction.presence(EXECUTION, { actionHash, outcome }));
}

/** Cancels requests for approval that are no longer needed, and the decisions of pending ones. */
export async function cancelRequests(transaction: ServiceTransaction, requests: readonly OpenRequest[]): Promise<void> {
  for (const { request, decision } of requests) {
    if (decision.status === 'proposed') await cancelDecision(transaction, decision, null);
    else cancelApproved(transaction, await requiredExecution(transaction, request.id), null);
  }
}

interface OpenRequest {
  readonly request: RequestRow;
  readonly decision: Decision;
}

/** Returns the requests that are still pending or approved after due ones were settled, the newest first. */
async function openRequests(transaction: ServiceTransaction, requests: readonly RequestRow[]): Promise<OpenRequest[]> {
  const open: OpenRequest[] = [];
  for (const request of [...requests].sort((left, right) => right.createdSequence - left.createdSequence)) {
    const decision = await decisionOf(transaction, request);
    const { now } = transaction;
    if (isExpired(decision, now)) await expireDecision(transaction, decision);
    else if (isApprovalOver(request, now))
      expireApproval(transaction, await requiredExecution(transaction, request.id));
    else open.push({ request, decision });
  }
  return open;
}

/** Returns the newest rejection that is still binding. */
async function rejectionAmong(
  transaction: ServiceTransaction,
  rejected: readonly RequestRow[],
): Promise<Extract<ApprovalRequestResult, { refusal: DomainError }> | undefined> {
  for (const request of rejected) {
    const decision = await decisionOf(transaction, request);
    const end = rejectionEnd(decision);
    if (end <= transaction.now) continue;
    const { id: decisionId } = decision;
    const { instead } = await requiredExecution(transaction, request.id);
    const rejection = rejectionWords(decision, instead);
    const message = `This action was rejected by the decision ${decisionId}. It can be requested again from ${end} on.`;
    const words = { decisionId, ...(rejection !== null && { rejection }) };
    return { refusal: permissionDenied('approval_rejected', message, words), decisionId };
  }
  return undefined;
}

/** Returns the requests, the newest first. */
function requestsFor(
  transaction: ServiceTransaction,
  values: Pick<Execution, 'actionHash' | 'outcome'> & { readonly run?: string | null },
): Promise<RequestRow[]> {
  return transaction.findNewest(EXECUTION, OF_REQUESTS, values, MAX_EXECUTIONS);
}

/** Returns the decision for which an execution waits, or waited. */
export async function decisionOf(
  transaction: ServiceTransaction,
  { id, decisionId }: Pick<Execution, 'id' | 'decisionId'>,
): Promise<Decision> {
  const decision = decisionId === null ? undefined : await transaction.find(DECISION, decisionId);
  return requirePresent(decision, `decision of the execution ${id}`);
}

/** Counts the waiting requests of the agent. Below the maximum, the count may include some that are over. */
async function pendingRequests(transaction: ServiceTransaction, agentId: string, maximum: number): Promise<number> {
  const notSettled = await transaction.count(EXECUTION, { agentId, outcome: 'pending_approval' });
  if (notSettled < maximum) return notSettled;
  const greater = { executionId: '', expiresAt: transaction.now };
  return transaction.count(DECISION, { proposedBy: agentId, status: 'proposed' }, greater);
}

/**
 * True if one commit could still cancel all open requests for this action, in all runs, after one more was added: an
 * authorisation of the action cancels all of them. Each request has the same parameters and, until policies change, the
 * same approvers. Expired requests count until they are settled.
 */
async function canBeCancelledTogether(
  transaction: ServiceTransaction,
  { actionHash, parameters }: Pick<NewExecution, 'actionHash' | 'parameters'>,
  { approvers }: ApprovalRequirement,
): Promise<boolean> {
  const length = jsonLength(parameters, approvers);
  if (length * 2 * MAX_EXECUTIONS <= MAX_CANCELLED_CHARACTERS) return true;
  const waiting = await transaction.count(EXECUTION, { actionHash, outcome: 'pending_approval' });
  const open = waiting + (await transaction.count(EXECUTION, { actionHash, outcome: 'approved' }));
  return open === 0 || length * (open + 1) <= MAX_CANCELLED_CHARACTERS;
}

/** Proposes the decision and records the waiting execution, in one commit. */
function insertRequest(
  transaction: ServiceTransaction,
  newExecution: NewExecution,
  { requirement, basis }: ApprovalTerms,
): Execution {
  const { agentId, agentName, action, resourceType, resourceId, onBehalfOf, run, traceId } = newExecution;
  const { riskLevel, approvers, decideWithin, executeWithin, grant = null } = requirement;
  const title = `${agentName}: ${action} on ${resourceType}/${resourceId}`;
  const decision = proposedDecision(transaction.newId(DECISION), transaction.now, {
    type: 'execution',
    title: [...title].slice(0, TITLE_LENGTH).join(''),
    proposedBy: agentId,
    riskLevel,
    requiredApprovals: sumOfApprovals(approvers),
    expiresAt: addDuration(decideWithin, transaction.now),
    executionId: newExecution.id,
    actionHash: newExecution.actionHash,
    approvers,
    executeWithin,
    grant,
    onBehalfOf,
    run,
    traceId,
  });
  transaction.insert(DECISION, decision, proposedNote(decision));
  const execution = { outcome: 'pending_approval', ...newExecution, decisionId: decision.id } as const;
  return transaction.insert(EXECUTION, execution, decidedNote(execution, 'execution.approval_requested', basis));
}
