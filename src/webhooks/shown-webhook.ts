import type { Webhook } from './webhook.entity';

/** A webhook without its secrets: may be returned, and stored for an idempotency key. */
export type ShownWebhook = Omit<Webhook, 'secrets'>;

export function shownWebhook(webhook: Webhook): ShownWebhook {
  const { id, createdSequence, url, actions, agentId, description, secretHash, status, createdAt, updatedAt } = webhook;
  return { id, createdSequence, url, actions, agentId, description, secretHash, status, createdAt, updatedAt };
}
