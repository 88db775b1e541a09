import type { RecordKind } from '../ledger/record-kind';
import { Decision } from './decision.entity';

/** How the ledger keeps decisions. The hashed members are frozen. */
export const DECISION: RecordKind<Decision> = {
  subjectType: 'decision',
  idPrefix: 'dec',
  table: Decision,
  hashedMembers: [
    'id',
    'type',
    'title',
    'description',
    'context',
    'proposedBy',
    'riskLevel',
    'status',
    'requiredApprovals',
    'reviews',
    'expiresAt',
    'createdAt',
    'updatedAt',
    'resolvedAt',
  ],
  counter: 'decisions',
  freeForm: ['context'],
  due: { timeColumn: 'expiresAt', unlessSet: 'resolvedAt' },
  countedBy: ['status', 'riskLevel', 'type', 'proposedBy'],
};
