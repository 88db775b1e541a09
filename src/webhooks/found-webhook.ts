import { notFound } from '../errors/domain-error';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import type { Webhook } from './webhook.entity';
import { WEBHOOK } from './webhook.kind';

/** @throws NOT_FOUND */
export async function foundWebhook(transaction: LedgerTransaction, id: string): Promise<Webhook> {
  const webhook = await transaction.find(WEBHOOK, id);
  if (webhook === undefined) throw notFound('webhook');
  return webhook;
}
