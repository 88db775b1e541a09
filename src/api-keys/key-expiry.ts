import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { expiredNote } from './api-key-notes';
import type { ApiKey } from './api-key.entity';
import { API_KEY } from './api-key.kind';
import type { KeyBook } from './key-book';

/** True from the moment of `expiresAt` on, for a key that nobody has settled or revoked. */
export function isDue({ status, expiresAt }: ApiKey, now: string): boolean {
  return status === 'active' && expiresAt !== null && expiresAt <= now;
}

/** Puts on record that the key's time is over. */
export function settleExpiry(transaction: LedgerTransaction, book: KeyBook, key: ApiKey): ApiKey {
  const expired = { ...key, status: 'expired' } as const;
  book.follow(transaction, expired);
  return transaction.update(API_KEY, expired, expiredNote(key));
}
