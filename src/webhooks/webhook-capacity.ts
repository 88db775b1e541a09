import { conflict } from '../errors/domain-error';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { WEBHOOK_STATUSES } from './webhook.entity';
import { WEBHOOK } from './webhook.kind';

const MOST_WEBHOOKS = 100;

/** @throws CONFLICT when the maximum number of webhooks exists. */
export async function requireRoom(transaction: LedgerTransaction): Promise<void> {
  const counts = await Promise.all(WEBHOOK_STATUSES.map((status) => transaction.count(WEBHOOK, { status })));
  if (counts.reduce((sum, count) => sum + count, 0) < MOST_WEBHOOKS) return;
  throw conflict(`There are ${MOST_WEBHOOKS} webhooks already, which is the maximum. Delete one first.`);
}
