import { ListQuery } from '../../http/lists/list.query';
import { OrderedPeriod } from '../../http/validation/period';
import { QueryOneOf, QueryText, QueryTimestamp } from '../../http/validation/query-fields';
import { EXECUTION_OUTCOMES } from '../execution.entity';
import type { ExecutionOutcome } from '../execution.entity';

@OrderedPeriod()
export class ExecutionListQuery extends ListQuery {
  @QueryText({ max: 500, description: 'Only executions of the agent with this id.' })
  readonly agentId?: string;

  @QueryText({ max: 100, description: 'Only executions of this action.' })
  readonly action?: string;

  @QueryOneOf(EXECUTION_OUTCOMES, { description: 'Only executions of this outcome.' })
  readonly outcome?: ExecutionOutcome;

  @QueryTimestamp({
    description: 'Only executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only executions begun up to and including this time.' })
  readonly to?: string;
}
