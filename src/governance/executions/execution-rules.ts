import { createHash, type Hash } from 'node:crypto';
import { requireActsAs } from '../agents/find-agent';
import { conflict, type DomainError, requireFound, requirePresent } from '../../core/errors/domain-error';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { addDuration } from '../../core/values/duration';
import {
  type Execution,
  EXECUTION,
  type ExecutionOutcome,
  type InsteadApproved,
  outcomeNote,
} from './execution.entity';
import type { JsonObject } from '../../core/json/json-value';
import type { DueRecords } from '../../ledger/due-settlement';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';

/** Members of an approved action: if any of these differs, it is another action. */
type ApprovedAction = Pick<
  Execution,
  'agentId' | 'action' | 'resourceType' | 'resourceId' | 'parameters' | 'onBehalfOf'
>;

/** Outcomes that never change again. */
type FinalOutcome = Exclude<ExecutionOutcome, 'authorized' | 'running' | 'pending_approval' | 'approved'>;

/** Returns the hex SHA-256 of the RFC 8785 form of the requested action. */
export function actionHash(approvedAction: ApprovedAction): string {
  return actionHasher(approvedAction)(approvedAction);
}

/**
 * Returns the function that hashes an action on several resources for several principals. The parameters, which may be
 * long, are written once, when something is hashed, and hashed once for each principal.
 */
export function actionHasher(
  action: Omit<ApprovedAction, 'resourceId' | 'onBehalfOf'>,
): (part: Pick<ApprovedAction, 'resourceId' | 'onBehalfOf'>) => string {
  const { agentId, action: name, resourceType, parameters } = action;
  let parametersText: string | undefined;
  const begun = new Map<string, Hash>();
  return ({ resourceId, onBehalfOf }) => {
    const first = membersOf({ agentId, action: name, ...(onBehalfOf !== null && { onBehalfOf: { ...onBehalfOf } }) });
    // RFC 8785 sorts the members, and all of these precede the resource.
    const hash =
      begun.get(first) ??
      createHash('sha256')
        .update(`{${first},`)
        .update((parametersText ??= membersOf({ parameters })));
    begun.set(first, hash);
    return hash
      .copy()
      .update(`,${membersOf({ resourceId, resourceType })}}`)
      .digest('hex');
  };
}

/** Returns the RFC 8785 text of the members of an object, without its braces. */
function membersOf(members: JsonObject): string {
  return canonicalJson(members).slice(1, -1);
}

/**
 * Returns the execution that a path names, for a caller who may act as its agent. @throws NOT_FOUND; PERMISSION_DENIED
 */
export async function ownExecution(transaction: LedgerTransaction, id: string): Promise<Execution> {
  const execution = requireFound(await transaction.findVisible(EXECUTION, id), 'execution');
  requireActsAs(transaction.caller, execution.agentId);
  return execution;
}

export function endedExecution(execution: Execution, outcome: FinalOutcome, now: string): Execution {
  return { ...execution, outcome, completedAt: now };
}

/** True from the moment of `approvedUntil` on. */
export function isApprovalOver(
  { outcome, approvedUntil }: Pick<Execution, 'outcome' | 'approvedUntil'>,
  now: string,
): boolean {
  return outcome === 'approved' && approvedUntil !== null && approvedUntil <= now;
}

/** Returns why an execution cannot be cancelled; null if it can. */
export function cancelConflict({ outcome }: Execution): DomainError | null {
  if (outcome === 'pending_approval' || outcome === 'approved') return null;
  return conflict(`The execution is ${outcome}; only one that waits for approval or is approved can be cancelled.`);
}

/** The part of a settled decision that concerns the execution waiting for it. */
interface SettledDecision {
  readonly executionId: string | null;
  readonly status: 'approved' | 'rejected' | 'expired' | 'cancelled';
  readonly executeWithin: string | null;
}

/** Additional facts of the entry: the reason of a cancellation, and whether the service cancelled automatically. */
export interface SettlementNote {
  readonly reason?: string | null;
  readonly bySystem?: true;
  /** The agent whose review settled the decision. */
  readonly reviewerId?: string;
  /** Alternative that the rejecting reviewer would approve. */
  readonly instead?: InsteadApproved | null;
}

/**
 * Applies the outcome of a decision to its execution, in the commit of the decision. Does not change an execution that
 * no longer waits.
 */
export async function settleExecutionOf(
  transaction: LedgerTransaction,
  { executionId, status, executeWithin }: SettledDecision,
  { reason = null, reviewerId, instead = null, ...added }: SettlementNote = {},
): Promise<void> {
  if (executionId === null) return;
  const execution = await transaction.find(EXECUTION, executionId);
  if (execution?.outcome !== 'pending_approval') return;
  const { now } = transaction;
  const settled =
    status === 'approved'
      ? {
          ...execution,
          outcome: status,
          approvedUntil: addDuration(requirePresent(executeWithin ?? undefined, 'time limit'), now),
        }
      : { ...endedExecution(execution, status, now), instead };
  const note = outcomeNote(settled, status, reason);
  const details = { ...note.details, ...(reviewerId !== undefined && { reviewerId }) };
  transaction.update(EXECUTION, settled, { ...note, ...added, details });
}

/** Gives up an approval; its decision stays. */
export function cancelApproved(transaction: LedgerTransaction, execution: Execution, reason: string | null): Execution {
  const cancelled = endedExecution(execution, 'cancelled', transaction.now);
  return transaction.update(EXECUTION, cancelled, outcomeNote(cancelled, 'cancelled', reason));
}

export function expireApproval(transaction: LedgerTransaction, execution: Execution): Execution {
  const expired = endedExecution(execution, 'expired', transaction.now);
  return transaction.update(EXECUTION, expired, { ...outcomeNote(expired, 'expired'), bySystem: true });
}

/** Settles executions whose approval was not used in time. */
export const DUE_APPROVALS: DueRecords<Execution> = {
  kind: EXECUTION,
  settle: (transaction, execution) => {
    if (isApprovalOver(execution, transaction.now)) expireApproval(transaction, execution);
  },
};
