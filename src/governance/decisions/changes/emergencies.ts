import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../../ledger/commands/ledger-transaction';
import type { RecordReader } from '../../../ledger/reading/record-reader';
import { type Decision, DECISION } from '../decision.entity';
import { CHANGE_REVIEW_TYPE, isAboutChange } from './change';

/** Exceeds the number of emergencies that may wait for their review at a time. */
const AT_ONCE = 100;
const UNREVIEWED = { type: CHANGE_REVIEW_TYPE, status: 'proposed' } as const;
const CONDITIONS = Object.entries(UNREVIEWED).map(
  ([column, value]) => ({ column, comparison: 'equals', value }) as const,
);

/** Returns the decisions on emergencies that nobody has reviewed yet. */
export function unreviewedEmergencies(transaction: LedgerTransaction): Promise<Decision[]> {
  return transaction.findAll(DECISION, UNREVIEWED);
}

/**
 * Returns the times of the emergencies without a review. Whatever an emergency made has its time; a key or person that
 * has the same time by chance is barred as well. Empty unless one of the decisions is about a change.
 */
export async function emergencyTimes(
  records: RecordReader,
  decisions: readonly Pick<Decision, 'change'>[],
): Promise<ReadonlySet<string>> {
  const times = new Set<string>();
  if (!decisions.some(isAboutChange)) return times;
  const range = { conditions: CONDITIONS, order: 'asc', position: null, atOnce: AT_ONCE } as const;
  for await (const emergencies of records.columns(DECISION, ['createdAt'], range, SYSTEM_CALLER))
    for (const { createdAt } of emergencies) times.add(createdAt);
  return times;
}
