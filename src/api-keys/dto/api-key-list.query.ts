import { normaliseAgentName } from '../../agents/agent-name';
import { ListQuery } from '../../http/lists/list.query';
import { QueryOneOf, QueryText } from '../../http/validation/query-fields';
import { API_KEY_STATUSES, type ApiKeyStatus } from '../api-key.entity';

export class ApiKeyListQuery extends ListQuery {
  @QueryOneOf(API_KEY_STATUSES, { enumName: 'ApiKeyStatus', description: 'Only keys of this status.' })
  readonly status?: ApiKeyStatus;

  @QueryText({
    max: 500,
    description: 'Only keys that are bound to the agent with this id or name.',
    normalise: normaliseAgentName,
  })
  readonly agentId?: string;
}
