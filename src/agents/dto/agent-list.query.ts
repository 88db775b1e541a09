import { ListQuery } from '../../http/lists/list.query';
import { QueryOneOf, QueryText } from '../../http/validation/query-fields';
import { AGENT_KINDS } from '../agent-kind';
import { AGENT_STATUSES } from '../agent.entity';
import type { AgentKind } from '../agent-kind';
import type { AgentStatus } from '../agent.entity';

export class AgentListQuery extends ListQuery {
  @QueryText({ max: 100, description: 'Only agents with this capability.' })
  readonly capability?: string;

  @QueryText({ max: 100, description: 'Only agents with this role.' })
  readonly role?: string;

  @QueryOneOf(AGENT_STATUSES, { enumName: 'AgentStatus', description: 'Only agents of this status.' })
  readonly status?: AgentStatus;

  @QueryOneOf(AGENT_KINDS, { enumName: 'AgentKind', description: 'Only agents of this kind.' })
  readonly kind?: AgentKind;
}
