import type { RecordKind } from '../ledger/record-kind';
import { Agent, AGENT_STATUSES } from './agent.entity';

/** How the ledger keeps agents. The hashed members are frozen. */
export const AGENT: RecordKind<Agent> = {
  subjectType: 'agent',
  idPrefix: 'agt',
  table: Agent,
  hashedMembers: ['id', 'name', 'description', 'capabilities', 'roles', 'status', 'createdAt', 'updatedAt', 'revision'],
  laterMembers: { kind: 'machine' },
  uniqueKeys: [['name']],
  counter: 'agents',
  countedBy: ['status', 'kind'],
  listColumns: ['capabilities', 'roles'],
  decisive: { capabilities: 'texts', roles: 'texts', status: AGENT_STATUSES },
};
