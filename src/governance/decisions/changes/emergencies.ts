import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import type { LedgerTransaction } from '../../../ledger/commands/ledger-transaction';
import type { RecordReader } from '../../../ledger/reading/record-reader';
import { type Decision, DECISION } from '../decision.entity';
import { CHANGE_REVIEW_TYPE, isAboutChange } from './change';

/** Number of emergencies read at once; fewer may wait for their review. */
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
 * Returns the times, in ISO 8601, of the emergencies without a review; none unless one of the decisions is about a
 * change. Keys and people that an emergency created have its time. One that has the same time by chance may not decide
 * either.
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
