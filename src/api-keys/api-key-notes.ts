import type { EntryNote } from '../ledger/ledger-transaction';
import type { ApiKey } from './api-key.entity';

type Key = Pick<ApiKey, 'agentId' | 'scopes' | 'expiresAt'>;

export function createdNote({ agentId, scopes, expiresAt }: Key): EntryNote {
  return { action: 'api_key.created', agentId, details: { scopes, expiresAt } };
}

export function revokedNote({ agentId }: Key, reason: string | null): EntryNote {
  return { action: 'api_key.revoked', agentId, reason };
}

export function expiredNote({ agentId, expiresAt }: Key): EntryNote {
  return { action: 'api_key.expired', agentId, details: { expiresAt }, bySystem: true };
}
