import type { RecordKind } from '../ledger/record-kind';
import { RISK_LEVELS } from '../config/configuration';
import { CAN_EXPIRE, Decision, DECISION_STATUSES } from './decision.entity';

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
  laterMembers: { executionId: null, actionHash: null, approvers: null, executeWithin: null },
  counter: 'decisions',
  freeForm: ['context'],
  due: { timeColumn: 'expiresAt', where: CAN_EXPIRE },
  visibility: { allWith: ['read', 'review'], agentColumn: 'proposedBy' },
  countedBy: ['status', 'riskLevel', 'type', 'proposedBy'],
  decisive: { status: DECISION_STATUSES, riskLevel: RISK_LEVELS },
};
