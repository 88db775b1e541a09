import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { expiredNote } from './api-key-notes';
import type { ApiKey } from './api-key.entity';
import { API_KEY } from './api-key.kind';
import type { ActiveKeys } from './active-keys';

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
