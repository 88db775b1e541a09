import type { RecordKind } from '../ledger/record-kind';
import { ApiKey } from './api-key.entity';

/** How the ledger keeps keys. The hashed members are frozen. */
export const API_KEY: RecordKind<ApiKey> = {
  subjectType: 'api_key',
  idPrefix: 'key',
  table: ApiKey,
  hashedMembers: [
    'id',
    'name',
    'scopes',
    'agentId',
    'prefix',
    'secretHash',
    'status',
    'createdAt',
    'expiresAt',
    'revokedAt',
  ],
  counter: 'api_keys',
  countedBy: ['status', 'agentId'],
  isKeptInMemory: true,
};
