import { QueryAgent } from '../../../governance/agents/dto/agent.dto';
import { QueryInteger, QueryText, QueryTexts } from '../../../http/validation/query-fields';
import { actionPatternFault, LONGEST_PATTERN } from '../event-filter';

export class EventsQuery {
  @QueryInteger({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Begins after this sequence; 0: with the first event. Without it only new events are sent.',
  })
  readonly after?: number;

  @QueryTexts({
    maxItems: 50,
    item: { max: LONGEST_PATTERN, rule: actionPatternFault },
    description: 'Only events of one of these actions, each an action or a family of them, such as `entity.*`.',
  })
  readonly action?: string[];

  @QueryAgent('Only events of the agent with this id or name.')
  readonly agentId?: string;

  @QueryText({ max: 500, description: 'Only events about the entity with this id.' })
  readonly entityId?: string;

  @QueryText({ max: 500, description: 'Only events about the record with this id.' })
  readonly subjectId?: string;
}
