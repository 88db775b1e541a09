import { areSameApprovers, type ApprovalRequirement } from '../policies/approval/approval-requirement';
import { sumOfApprovals } from '../policies/approval/reviewer-groups';
import { proposedNote } from '../decisions/decision-notes';
import { isExpired } from '../decisions/decision-rules';
import { expireDecision } from '../decisions/decision-settlement';
import type { Decision } from '../decisions/decision.entity';
import { DECISION } from '../decisions/decision.kind';
import { conflict, permissionDenied, type DomainError } from '../errors/domain-error';
import { settledApproval } from '../executions/execution-approvals';
import { decidedNote } from '../executions/execution-note';
import type { Execution, ExecutionOutcome } from '../executions/execution.entity';
import { EXECUTION } from '../executions/execution.kind';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { endOf } from '../shared/duration';
import type { AskedExecution } from './asked-execution';

/** Most executions of one action that are examined: the newest ones. */
const MOST_READ = 100;
/** The longest time that a rejection is binding. */
const REJECTION_HOLDS = 'P1D';
const TITLE_LENGTH = 500;

/** What policies require, and the set of policies that requires it. */
export interface RequiredApproval {
  readonly requirement: ApprovalRequirement;
  readonly policySet: string;
}

/** The result of asking for an approval: an execution that waits for it or has it, or why the agent is refused. */
export type ApprovalAnswer =
  { readonly execution: Execution } | { readonly refusal: DomainError; readonly decisionId: string | null };

/**
 * Asks for the approval of an action. A repeated request gets the current answer; a rejection is binding until its
 * decision would have expired, at most for a day.
 * @throws CONFLICT when the agent has too many requests pending, with nothing written.
 */
export async function askForApproval(
  transaction: LedgerTransaction,
  asked: AskedExecution,
  { requirement, policySet }: RequiredApproval,
  maxPending: number,
): Promise<ApprovalAnswer> {
  // Everything is read before anything is changed: reading settles what is due.
  const pending = await executionsOf(transaction, asked, 'pending_approval');
  const approved = await executionsOf(transaction, asked, 'approved');
  const rejected = await executionsOf(transaction, asked, 'rejected');
  const pendingOfAgent = await transaction.count(EXECUTION, { agentId: asked.agentId, outcome: 'pending_approval' });
  const open = await openRequests(transaction, [...pending, ...approved]);
  const standing = open.find(({ decision }) => areSameApprovers(decision.approvers ?? [], requirement.approvers));
  if (standing !== undefined) return { execution: standing.execution };
  const rejection = await rejectionAmong(transaction, rejected);
  if (rejection !== undefined) return { refusal: rejectedError(rejection), decisionId: rejection.id };
  const expired = pending.length - open.filter(({ execution }) => execution.outcome === 'pending_approval').length;
  refuseTooManyPending(pendingOfAgent - expired, maxPending);
  return { execution: requested(transaction, asked, { requirement, policySet }) };
}

interface OpenRequest {
  readonly execution: Execution;
  readonly decision: Decision;
}

/** The requests that are still pending or approved once due ones are settled, the newest first. */
async function openRequests(transaction: LedgerTransaction, found: readonly Execution[]): Promise<OpenRequest[]> {
  const open: OpenRequest[] = [];
  for (const execution of [...found].sort((left, right) => right.createdSequence - left.createdSequence)) {
    const decision = await decisionOf(transaction, execution);
    const settled = await settledRequest(transaction, execution, decision);
    if (settled.outcome === 'pending_approval' || settled.outcome === 'approved') {
      open.push({ execution: settled, decision });
    }
  }
  return open;
}

async function settledRequest(
  transaction: LedgerTransaction,
  execution: Execution,
  decision: Decision,
): Promise<Execution> {
  if (!isExpired(decision, transaction.now)) return settledApproval(transaction, execution);
  await expireDecision(transaction, decision);
  return (await transaction.find(EXECUTION, execution.id)) ?? execution;
}

/** The newest rejection that is still binding. */
async function rejectionAmong(
  transaction: LedgerTransaction,
  rejected: readonly Execution[],
): Promise<Decision | undefined> {
  for (const execution of [...rejected].reverse()) {
    const decision = await decisionOf(transaction, execution);
    if (rejectionEnd(decision) > transaction.now) return decision;
  }
  return undefined;
}

/** ISO 8601. */
function rejectionEnd({ resolvedAt, createdAt, expiresAt }: Decision): string {
  const dayLater = endOf(REJECTION_HOLDS, resolvedAt ?? createdAt);
  return expiresAt !== null && expiresAt < dayLater ? expiresAt : dayLater;
}

function rejectedError({ id, expiresAt }: Decision): DomainError {
  return permissionDenied(
    'approval_rejected',
    `This action was rejected by the decision ${id}. It can be requested again once that decision would have expired (${String(expiresAt)}), or after a day.`,
    { decisionId: id },
  );
}

async function executionsOf(
  transaction: LedgerTransaction,
  { actionHash }: AskedExecution,
  outcome: ExecutionOutcome,
): Promise<Execution[]> {
  return transaction.findAll(EXECUTION, { actionHash, outcome }, MOST_READ);
}

/** The decision that an execution waits for, or waited for. */
export async function decisionOf(transaction: LedgerTransaction, { id, decisionId }: Execution): Promise<Decision> {
  const decision = decisionId === null ? undefined : await transaction.find(DECISION, decisionId);
  if (decision === undefined) throw new Error(`The execution ${id} waits for a decision that no longer exists.`);
  return decision;
}

function refuseTooManyPending(pending: number, maximum: number): void {
  if (pending < maximum) return;
  throw conflict(
    `The agent has ${pending} requests that wait for approval, and the maximum is ${maximum} (MAX_PENDING_APPROVALS). ` +
      'Have some of them decided, or cancel some.',
  );
}

/** Proposes the decision and records the waiting execution, in one commit. */
function requested(
  transaction: LedgerTransaction,
  asked: AskedExecution,
  { requirement, policySet }: RequiredApproval,
): Execution {
  const { now } = transaction;
  const decision = proposedDecision(transaction.newId(DECISION), asked, requirement, now);
  transaction.insert(DECISION, decision, proposedNote(decision));
  const execution = { outcome: 'pending_approval', ...asked, decisionId: decision.id } as const;
  return transaction.insert(EXECUTION, execution, decidedNote(execution, 'execution.approval_requested', policySet));
}

function proposedDecision(
  id: string,
  asked: AskedExecution,
  { riskLevel, approvers, decideWithin, executeWithin }: ApprovalRequirement,
  now: string,
): Omit<Decision, 'createdSequence'> {
  const { agentId, agentName, action, resourceType, resourceId } = asked;
  const title = `${agentName}: ${action} on ${resourceType}/${resourceId}`;
  return {
    id,
    type: 'execution',
    title: [...title].slice(0, TITLE_LENGTH).join(''),
    description: '',
    context: {},
    proposedBy: agentId,
    riskLevel,
    status: 'proposed',
    requiredApprovals: sumOfApprovals(approvers),
    reviews: [],
    expiresAt: endOf(decideWithin, now),
    createdAt: now,
    updatedAt: now,
    resolvedAt: null,
    executionId: asked.id,
    actionHash: asked.actionHash,
    approvers,
    executeWithin,
  };
}
