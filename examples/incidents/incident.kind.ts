import type { RecordKind } from '../ledger/kinds/record-kind';
import { Incident } from './incident.entity';

export const INCIDENT: RecordKind<Incident> = {
  subjectType: 'incident',
  idPrefix: 'inc',
  table: Incident,
  hashedMembers: ['id', 'reference', 'title', 'severity', 'labels', 'affected', 'entityId', 'createdAt', 'closedAt'],
  uniqueKeys: [['reference']],
  counter: 'incidents',
  isInStatistics: true,
  isKeptInMemory: true,
  countedBy: ['severity'],
  listColumns: ['labels'],
  timeColumn: 'createdAt',
};
