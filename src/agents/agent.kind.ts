import type { RecordKind } from '../ledger/record-kind';
import { Agent } from './agent.entity';

/** How the ledger keeps agents. The hashed members are frozen. */
export const AGENT: RecordKind<Agent> = {
  subjectType: 'agent',
  idPrefix: 'agt',
  table: Agent,
  hashedMembers: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
  uniqueKeys: [['name']],
  counter: 'agents',
  countedBy: ['status'],
  listColumns: ['capabilities', 'roles'],
};
