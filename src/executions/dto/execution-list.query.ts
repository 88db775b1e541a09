import { normaliseAgentName } from '../../agents/agent-name';
import { ListQuery } from '../../http/lists/list.query';
import { OrderedPeriod } from '../../http/validation/timestamp';
import { QueryOneOf, QueryText, QueryTimestamp } from '../../http/validation/query-fields';
import { EXECUTION_OUTCOMES } from '../execution.entity';
import type { ExecutionOutcome } from '../execution.entity';

@OrderedPeriod()
export class ExecutionListQuery extends ListQuery {
  @QueryText({
    max: 500,
    description: 'Only executions of the agent with this id or name.',
    normalise: normaliseAgentName,
  })
  readonly agentId?: string;

  @QueryText({ max: 100, description: 'Only executions of this action.' })
  readonly action?: string;

  @QueryOneOf(EXECUTION_OUTCOMES, { enumName: 'ExecutionOutcome', description: 'Only executions of this outcome.' })
  readonly outcome?: ExecutionOutcome;

  @QueryText({ max: 100, description: 'Only the execution of the decision with this id.' })
  readonly decisionId?: string;

  @QueryText({ max: 100, description: 'Only executions that requested exactly this.' })
  readonly actionHash?: string;

  @QueryText({ max: 100, description: 'Only executions on resources of this type.' })
  readonly resourceType?: string;

  @QueryText({ max: 500, description: 'Only executions on this resource.' })
  readonly resourceId?: string;

  @QueryTimestamp({
    description: 'Only executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only executions begun up to and including this time.' })
  readonly to?: string;
}
