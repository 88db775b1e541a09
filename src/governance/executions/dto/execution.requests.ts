import { WholeRequest } from '../../../http/validation/dto';
import { JsonField, OneOf, OptionalText } from '../../../http/validation/fields';
import { OrderedPeriod, QueryOneOf, QueryText, QueryTimestamp } from '../../../http/validation/query-fields';
import type { JsonValue } from '../../../core/json/json-value';
import { LONGEST_PRINCIPAL } from '../../policies/patterns/principals';
import { QueryAgent } from '../../agents/dto/agent-fields';
import { ListQuery } from '../../../http/lists/list.query';
import { EXECUTION_OUTCOMES, type ExecutionOutcome } from '../execution.entity';

const REPORTED_OUTCOMES = ['executed', 'failed'] as const;

@WholeRequest(({ outcome, result, failureReason }) => [
  ...(outcome === 'failed' && result !== undefined
    ? [{ field: 'result', message: 'belongs to the outcome "executed"; give the cause of a failure in failureReason' }]
    : []),
  ...(outcome === 'executed' && failureReason !== undefined
    ? [{ field: 'failureReason', message: 'belongs to the outcome "failed"' }]
    : []),
])
export class ReportResultRequest {
  @OneOf(REPORTED_OUTCOMES, {
    enumName: 'ReportedOutcome',
    description: 'The outcome of the action.',
    example: 'executed',
  })
  readonly outcome!: (typeof REPORTED_OUTCOMES)[number];

  @JsonField({
    description: 'The result: any JSON value. With `executed` only.',
    example: { sent: 1 },
  })
  readonly result?: JsonValue;

  @OptionalText({ max: 2000, description: 'A sentence. With `failed` only.' })
  readonly failureReason?: string;
}

@OrderedPeriod()
export class ExecutionListQuery extends ListQuery {
  @QueryAgent('Only executions of the agent with this id or name.')
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

  @QueryText({ max: 100, description: 'Only executions of this W3C trace.' })
  readonly traceId?: string;

  @QueryText({ max: LONGEST_PRINCIPAL, description: 'Only executions on behalf of this subject, such as `user:4711`.' })
  readonly principal?: string;

  @QueryText({ max: 100, description: 'Only executions that the grant with this id authorised.' })
  readonly grantId?: string;

  @QueryText({ max: 200, description: 'Only executions in this run.' })
  readonly run?: string;

  @QueryTimestamp({
    description: 'Only executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only executions begun up to and including this time.' })
  readonly to?: string;
}
