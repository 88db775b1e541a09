import type { DueRecords } from '../../ledger/due-settlement';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { approvedExecution, endedExecution, isApprovalOver } from './execution-rules';
import { EXECUTION, type Execution, type InsteadApproved, outcomeNote } from './execution.entity';

/** The part of a settled decision that concerns the execution waiting for it. */
export interface SettledDecision {
  readonly executionId: string | null;
  readonly status: 'approved' | 'rejected' | 'expired' | 'cancelled';
  readonly executeWithin: string | null;
}

/** What the entry adds to the execution: why it was cancelled, and whether the service did it automatically. */
export interface SettlementNote {
  readonly reason?: string | null;
  readonly bySystem?: true;
  /** The agent whose review settled the decision. */
  readonly reviewerId?: string;
  /** What a rejection names that would be right. */
  readonly instead?: InsteadApproved | null;
}

/**
 * Applies the outcome of a decision to its execution, in the commit of the decision. An execution that has stopped
 * waiting stays as it is.
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
      ? approvedExecution(execution, requiredDuration(executeWithin), now)
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

/** Ends an approval that has expired. */
export function expireApproval(transaction: LedgerTransaction, execution: Execution): Execution {
  const expired = endedExecution(execution, 'expired', transaction.now);
  return transaction.update(EXECUTION, expired, { ...outcomeNote(expired, 'expired'), bySystem: true });
}

/** Executions whose approval was not used in time. */
export const DUE_APPROVALS: DueRecords<Execution> = {
  kind: EXECUTION,
  settle: (transaction, execution) => {
    if (isApprovalOver(execution, transaction.now)) expireApproval(transaction, execution);
    return Promise.resolve();
  },
};

function requiredDuration(executeWithin: string | null): string {
  if (executeWithin === null)
    throw new Error('The decision of an execution does not say for how long an approval holds.');
  return executeWithin;
}
