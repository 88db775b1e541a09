import type { RecordKind } from '../ledger/record-kind';
import { Execution } from './execution.entity';

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
  counter: 'executions',
  freeForm: ['parameters', 'result'],
  countedBy: ['agentId', 'action', 'outcome'],
  timeColumn: 'createdAt',
  unhashedAgree: ({ entityId, outcome, runBy }, entry) =>
    entityId === entry.entityId && (outcome === 'running') === (runBy !== ''),
};
