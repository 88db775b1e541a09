import { settleExecutionOf, type SettlementNote } from '../executions/execution-rules';
import type { DueRecords } from '../../ledger/due-settlement';
import type { EntryNote, LedgerTransaction } from '../../ledger/ledger-transaction';
import { DECISION, type Decision } from './decision.entity';
import { approvalsOf, withStatus, isExpired } from './decision-rules';

/** Writes a decision and, if that settles it, the outcome of the execution that waits for it. */
export async function settleDecision(
  transaction: LedgerTransaction,
  decision: Decision,
  note: EntryNote,
  forExecution: SettlementNote = {},
): Promise<Decision> {
  const { status, executionId, executeWithin } = decision;
  const written = transaction.update(DECISION, decision, note);
  if (status !== 'proposed') {
    await settleExecutionOf(transaction, { executionId, status, executeWithin }, forExecution);
  }
  return written;
}

export function expireDecision(transaction: LedgerTransaction, decision: Decision): Promise<Decision> {
  const after = withStatus(decision, 'expired', transaction.now);
  const { expiresAt, reviews, requiredApprovals } = decision;
  const details = { expiresAt, approvals: approvalsOf(reviews), requiredApprovals };
  const note = { action: 'decision.expired', details, bySystem: true } as const;
  return settleDecision(transaction, after, note, { bySystem: true });
}

export const DUE_DECISIONS: DueRecords<Decision> = {
  kind: DECISION,
  settle: async (transaction, decision) => {
    // A review may have been faster.
    if (isExpired(decision, transaction.now)) await expireDecision(transaction, decision);
  },
};

export function cancelDecision(
  transaction: LedgerTransaction,
  decision: Decision,
  reason: string | null,
): Promise<Decision> {
  const after = withStatus(decision, 'cancelled', transaction.now);
  return settleDecision(transaction, after, cancelledNote(after, reason), { reason });
}

/** Cancelled by its proposer, or by a caller that is not bound to an agent. */
export function cancelledNote({ proposedBy, reviews, requiredApprovals }: Decision, reason: string | null): EntryNote {
  const details = { approvals: approvalsOf(reviews), requiredApprovals };
  return { action: 'decision.cancelled', agentId: proposedBy, reason, details };
}
