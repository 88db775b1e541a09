import type { DueRecords } from '../../ledger/due-settlement';
import type { EntryNote, LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { DELEGATION, type Delegation, type DelegationStatus, dueTime } from './delegation.entity';

/** Returns the status at a time: a delegation begins and expires by itself. */
function statusAt({ status, from, until }: Delegation, now: string): DelegationStatus {
  if (status !== 'waiting' && status !== 'active') return status;
  if (until <= now) return 'expired';
  return from <= now ? 'active' : 'waiting';
}

const NAMES = { active: 'delegation.started', ended: 'delegation.ended', expired: 'delegation.expired' } as const;

function changeStatus(
  transaction: LedgerTransaction,
  delegation: Delegation,
  status: keyof typeof NAMES,
  note: Pick<EntryNote, 'bySystem'> = {},
): Delegation {
  const endedAt = status === 'active' ? null : transaction.now;
  const changed = { ...delegation, status, endedAt };
  return transaction.update(
    DELEGATION,
    { ...changed, dueAt: dueTime(changed) },
    { action: NAMES[status], agentId: delegation.agentId, ...note },
  );
}

/** Records that a delegation has begun or expired, if it has. */
export function settleDelegation(transaction: LedgerTransaction, delegation: Delegation): Delegation {
  const status = statusAt(delegation, transaction.now);
  if (status === delegation.status || status === 'waiting') return delegation;
  return changeStatus(transaction, delegation, status, { bySystem: true });
}

export function endDelegation(transaction: LedgerTransaction, delegation: Delegation): Delegation {
  return changeStatus(transaction, delegation, 'ended');
}

export const DUE_DELEGATIONS: DueRecords<Delegation> = {
  kind: DELEGATION,
  settle: (transaction, delegation) => {
    settleDelegation(transaction, delegation);
  },
};
