import type { RecordKind } from '../ledger/record-kind';
import { AWAITS_RESUME, Execution, EXECUTION_OUTCOMES } from './execution.entity';

/** How the ledger keeps executions. The hashed members are frozen. */
export const EXECUTION: RecordKind<Execution> = {
  subjectType: 'execution',
  idPrefix: 'exe',
  table: Execution,
  hashedMembers: [
    'id',
    'agentId',
    'agentName',
    'action',
    'resourceType',
    'resourceId',
    'parameters',
    'outcome',
    'policies',
    'decisionId',
    'result',
    'failureReason',
    'createdAt',
    'completedAt',
  ],
  laterMembers: { reason: null, actionHash: null, approvedUntil: null },
  counter: 'executions',
  freeForm: ['parameters', 'result'],
  visibility: { allWith: ['read', 'review'], agentColumn: 'agentId' },
  countedBy: ['agentId', 'action', 'outcome'],
  timeColumn: 'createdAt',
  fixed: ['agentId', 'agentName', 'action', 'resourceType', 'resourceId', 'actionHash', 'entityId'],
  due: { timeColumn: 'approvedUntil', where: AWAITS_RESUME },
  decisive: { outcome: EXECUTION_OUTCOMES },
  unhashedAgree: ({ entityId, outcome, runBy }, entry) =>
    entityId === entry.entityId && (outcome === 'running') === (runBy !== ''),
};
