import type { FactoryProvider } from '@nestjs/common';
import { type DueRecords, DueSettlement, dueSettlementOf } from '../../ledger/due-settlement';
import { LedgerService } from '../../ledger/ledger.service';
import { API_KEY, type ApiKey, expiredNote } from './api-key.entity';
import { ActiveKeys } from './active-keys';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';

/** Settles keys that have expired. They are rejected from their expiry on, settled or not. */
export const EXPIRED_KEYS: FactoryProvider<DueSettlement<ApiKey>> = {
  provide: dueSettlementOf(API_KEY),
  inject: [LedgerService, ActiveKeys],
  useFactory: (ledger: LedgerService, keys: ActiveKeys) => {
    const records = {
      kind: API_KEY,
      settle: async (transaction, key) => {
        if (isDue(key, transaction.now)) settleExpiry(transaction, keys, key);
      },
    } satisfies DueRecords<ApiKey>;
    // One by one: each takes a commit, and many together would hold up the writes of callers.
    return new DueSettlement(ledger, records, (now) => keys.due(now).map((id) => [id]), 'ApiKeys');
  },
};

/** True from `expiresAt` on, for a key that is neither settled nor revoked. */
export function isDue({ status, expiresAt }: ApiKey, now: string): boolean {
  return status === 'active' && expiresAt !== null && expiresAt <= now;
}

/** Records that the key has expired. */
export function settleExpiry(transaction: LedgerTransaction, keys: ActiveKeys, key: ApiKey): ApiKey {
  const expired = { ...key, status: 'expired' } as const;
  keys.follow(transaction, expired);
  return transaction.update(API_KEY, expired, expiredNote(key));
}
