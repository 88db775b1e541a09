import type { DueRecords } from '../ledger/due-settlement';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { approvedExecution, endedExecution, isApprovalOver } from './execution-rules';
import { outcomeNote } from './execution-note';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';

/** A decision that was just settled, as far as it concerns the execution that waits for it. */
export interface SettledDecision {
  readonly executionId: string | null;
  readonly status: 'approved' | 'rejected' | 'expired' | 'cancelled';
  readonly executeWithin: string | null;
}

/** What the entry says beyond the execution: why it was cancelled, and whether the service did it by itself. */
export interface SettlementNote {
  readonly reason?: string | null;
  readonly bySystem?: true;
}

/**
 * Carries what became of a decision over to its execution, in the commit of the decision. One that no longer waits stays as
 * it is.
 */
export async function settleExecutionOf(
  transaction: LedgerTransaction,
  { executionId, status, executeWithin }: SettledDecision,
  { reason = null, ...note }: SettlementNote = {},
): Promise<void> {
  if (executionId === null) return;
  const execution = await transaction.find(EXECUTION, executionId);
  if (execution?.outcome !== 'pending_approval') return;
  const { now } = transaction;
  const settled =
    status === 'approved'
      ? approvedExecution(execution, requiredDuration(executeWithin), now)
      : endedExecution(execution, status, now);
  transaction.update(EXECUTION, settled, { ...outcomeNote(settled, status, reason), ...note });
}

/** Ends an approval whose time is over. */
export function expireApproval(transaction: LedgerTransaction, execution: Execution): Execution {
  const expired = endedExecution(execution, 'expired', transaction.now);
  return transaction.update(EXECUTION, expired, { ...outcomeNote(expired, 'expired'), bySystem: true });
}

/** The execution as it is after what is due: its approval may be over. */
export function settledApproval(transaction: LedgerTransaction, execution: Execution): Execution {
  return isApprovalOver(execution, transaction.now) ? expireApproval(transaction, execution) : execution;
}

/** Executions whose approval was not taken up in time. */
export const DUE_APPROVALS: DueRecords<Execution> = {
  kind: EXECUTION,
  settle: (transaction, execution) => {
    settledApproval(transaction, execution);
    return Promise.resolve();
  },
};

function requiredDuration(executeWithin: string | null): string {
  if (executeWithin === null)
    throw new Error('The decision of an execution does not say for how long an approval holds.');
  return executeWithin;
}
