import type { RecordKind } from '../ledger/record-kind';
import { Policy } from './policy.entity';

/** How the ledger keeps policies. The hashed members are frozen. */
export const POLICY: RecordKind<Policy> = {
  subjectType: 'policy',
  idPrefix: 'pol',
  table: Policy,
  hashedMembers: [
    'id',
    'name',
    'version',
    'description',
    'effect',
    'subjects',
    'actions',
    'resources',
    'resourceTypes',
    'priority',
    'status',
    'warnings',
    'createdAt',
  ],
  uniqueKeys: [['name', 'version']],
  counter: 'policies',
  countedBy: ['status', 'effect'],
  isKeptInMemory: true,
};
