import type { FactoryProvider } from '@nestjs/common';
import { type DueRecords, DueSettlement, dueSettlementOf } from '../ledger/due-settlement';
import { LedgerService } from '../ledger/ledger.service';
import type { ApiKey } from './api-key.entity';
import { API_KEY } from './api-key.kind';
import { ActiveKeys } from './active-keys';
import { isDue, settleExpiry } from './key-expiry';

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
