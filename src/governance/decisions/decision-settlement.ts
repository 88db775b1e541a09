import { settleExecutionOf, type SettlementNote } from '../executions/execution-rules';
import type { FactoryProvider } from '@nestjs/common';
import { type DueRecords, DueSettlement } from '../../ledger/due-settlement';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { EntryNote, LedgerTransaction, ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { isAboutChange } from './changes/change';
import { forgetBody, removeRequest } from './changes/change-requests';
import { DECISION, type Decision, ESCALATION_DUE } from './decision.entity';
import { approvalsOf, escalatingGroups, withEscalation, withStatus, isExpired } from './decision-rules';

/**
 * Writes a decision and, if it is settled now, the outcome of the execution that waits for it; also forgets the body of
 * a change.
 */
export async function settleDecision(
  transaction: ServiceTransaction,
  decision: Decision,
  note: EntryNote,
  forExecution: SettlementNote = {},
): Promise<Decision> {
  const { status, executionId, executeWithin } = decision;
  const written = transaction.update(DECISION, decision, note);
  if (status !== 'proposed') {
    if (isAboutChange(decision))
      transaction.writeWithoutEntry(status === 'approved' ? forgetBody(decision.id) : removeRequest(decision.id));
    await settleExecutionOf(transaction, { executionId, status, executeWithin }, forExecution);
  }
  return written;
}

export function expireDecision(transaction: ServiceTransaction, decision: Decision): Promise<Decision> {
  const after = withStatus(decision, 'expired', transaction.now);
  const { expiresAt, reviews, requiredApprovals } = decision;
  const details = { expiresAt, approvals: approvalsOf(reviews), requiredApprovals };
  const note = { action: 'decision.expired', details, bySystem: true } as const;
  return settleDecision(transaction, after, note, { bySystem: true });
}

export const DUE_DECISIONS: DueRecords<Decision> = {
  kind: DECISION,
  settle: async (transaction, decision) => {
    // A review may have come first.
    if (isExpired(decision, transaction.now)) await expireDecision(transaction, decision);
  },
};

/** Lets more people fill the groups that are not filled in time. */
export function escalateDecision(transaction: LedgerTransaction, decision: Decision): Decision {
  if (isExpired(decision, transaction.now)) return decision;
  const groups = escalatingGroups(decision, transaction.now);
  if (groups.length === 0) return decision;
  const { reviews, requiredApprovals } = decision;
  const details = { groups, approvals: approvalsOf(reviews), requiredApprovals };
  const after = withEscalation(decision, groups, transaction.now);
  return transaction.update(DECISION, after, { action: 'decision.escalated', details, bySystem: true });
}

const ESCALATIONS: DueRecords<Decision> = {
  kind: DECISION,
  settle: (transaction, decision) => {
    escalateDecision(transaction, decision);
  },
};

/** Most decisions settled at once. */
const CHUNK = 100;

export const ESCALATION_SETTLEMENT: FactoryProvider<DueSettlement<Decision>> = {
  provide: 'DueSettlement of escalations',
  inject: [LedgerService, RecordReader],
  useFactory: (ledger: LedgerService, reader: RecordReader) =>
    new DueSettlement(ledger, ESCALATIONS, (now) => reader.due(DECISION, now, CHUNK, ESCALATION_DUE), 'Decisions'),
};

export function cancelDecision(
  transaction: ServiceTransaction,
  decision: Decision,
  reason: string | null,
): Promise<Decision> {
  const after = withStatus(decision, 'cancelled', transaction.now);
  return settleDecision(transaction, after, cancelledNote(after, reason), { reason });
}

/** Returns the note of a cancellation by the proposer, or by a caller that is not bound to an agent. */
export function cancelledNote({ proposedBy, reviews, requiredApprovals }: Decision, reason: string | null): EntryNote {
  const details = { approvals: approvalsOf(reviews), requiredApprovals };
  return { action: 'decision.cancelled', agentId: proposedBy, reason, details };
}
