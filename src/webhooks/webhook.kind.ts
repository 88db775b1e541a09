import type { RecordKind } from '../ledger/record-kind';
import { isOfHash } from './signing-secrets';
import { Webhook, WEBHOOK_STATUSES } from './webhook.entity';

/** How the ledger keeps webhooks. The hashed members are frozen. */
export const WEBHOOK: RecordKind<Webhook> = {
  subjectType: 'webhook',
  idPrefix: 'whk',
  table: Webhook,
  hashedMembers: ['id', 'url', 'actions', 'agentId', 'description', 'secretHash', 'status', 'createdAt', 'updatedAt'],
  counter: 'webhooks',
  decisive: { status: WEBHOOK_STATUSES },
  unhashedAgree: ({ secrets, secretHash }) => isOfHash(secrets, secretHash),
};
