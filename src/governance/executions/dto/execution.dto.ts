import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { WholeRequest } from '../../../http/validation/dto';
import { EachNamedOnce, JsonField, ListOf, OneOf, OptionalText, RequiredText } from '../../../http/validation/fields';
import { OrderedPeriod, QueryOneOf, QueryText, QueryTimestamp } from '../../../http/validation/query-fields';
import type { JsonValue } from '../../../core/json/json-value';
import { reservedFaults } from '../../secrets/replacement';
import { MAX_PRINCIPAL_CHARACTERS } from '../../policies/patterns/principals';
import { QueryAgent } from '../../agents/dto/agent.dto';
import { TEAM } from '../../agents/team';
import { ListQuery } from '../../../http/lists/list.query';
import { DecidingPolicyResponse, Execution, EXECUTION_OUTCOMES, type ExecutionOutcome } from '../execution.entity';
import {
  ApiMember,
  ApiNullableText,
  type ResponseMapper,
  responseMapper,
} from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';

const REPORTED_OUTCOMES = ['executed', 'failed'] as const;

@WholeRequest(({ outcome, result, failureReason, reason }) => [
  ...(outcome === 'failed' && result !== undefined
    ? [{ field: 'result', message: 'belongs to the outcome "executed"; give the cause of a failure in failureReason' }]
    : []),
  ...(outcome === 'executed' && failureReason !== undefined
    ? [{ field: 'failureReason', message: 'belongs to the outcome "failed"' }]
    : []),
  ...(outcome === 'executed' && reason !== undefined && reason !== null
    ? [{ field: 'reason', message: 'belongs to the outcome "failed"' }]
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
    rule: reservedFaults,
    description: 'The result: any JSON value. With `executed` only. Secrets in it are replaced.',
    example: { sent: 1 },
  })
  readonly result?: JsonValue;

  @OptionalText({ max: 2000, description: 'A sentence. With `failed` only.' })
  readonly failureReason?: string;

  @OptionalText({
    max: 100,
    rule: reasonFault,
    description:
      'For machines: why it failed. `not_sent`, `outcome_unknown`, `stopped`, or another word of `a–z`, `0–9` and `_`. It becomes the ' +
      "execution's `reason`. With `failed` only.",
  })
  readonly reason?: string;
}

/** Maximum number of outcomes in one request. */
const MAX_REPORTS = 100;

class ListedResultRequest extends ReportResultRequest {
  @RequiredText({ max: 100, description: 'The id of the execution.', example: sampleId('exe') })
  readonly id!: string;
}

@EachNamedOnce('results', ({ id }) => id)
export class ReportResultsRequest {
  @ListOf(ListedResultRequest, {
    maxItems: MAX_REPORTS,
    description: 'At least one, each execution once.',
    example: [{ id: sampleId('exe'), outcome: 'executed', result: { status: 200 } }],
  })
  readonly results!: ListedResultRequest[];
}

class ReportRefusalResponse {
  @ApiMember('`NOT_FOUND`, or `CONFLICT` where no result is taken.', { example: 'CONFLICT' })
  readonly code!: string;

  @ApiMember('A sentence.')
  readonly message!: string;
}

class ReportedResultResponse {
  @ApiMember('The id of the execution.', { example: sampleId('exe') })
  readonly id!: string;

  @ApiMember('Why the outcome was refused. Null: it was taken.', {
    type: ReportRefusalResponse,
    nullable: true,
    example: null,
  })
  readonly error!: ReportRefusalResponse | null;
}

export class ReportedResultsResponse {
  @ApiMember('In the order of the request.', { type: [ReportedResultResponse] })
  readonly data!: readonly ReportedResultResponse[];

  @ApiMember('Number of results.', { example: 1 })
  readonly total!: number;
}

function reasonFault(reason: string): string | undefined {
  return /^[a-z0-9_]+$/.test(reason)
    ? undefined
    : 'must have only the characters a–z, 0–9 and _, for example outcome_unknown';
}

@OrderedPeriod()
export class ExecutionListQuery extends ListQuery {
  @QueryAgent('Only executions of the agent with this id or name.')
  readonly agentId?: string;

  @QueryText({ max: 100, description: 'Only executions of this action.' })
  readonly action?: string;

  @QueryOneOf(EXECUTION_OUTCOMES, { enumName: 'ExecutionOutcome', description: 'Only executions with this outcome.' })
  readonly outcome?: ExecutionOutcome;

  @QueryText({ max: 100, description: 'Only the execution of the decision with this id.' })
  readonly decisionId?: string;

  @QueryText({ max: 100, description: 'Only executions that requested exactly the action with this hash.' })
  readonly actionHash?: string;

  @QueryText({ max: 100, description: 'Only executions on resources of this type.' })
  readonly resourceType?: string;

  @QueryText({ max: 500, description: 'Only executions on this resource.' })
  readonly resourceId?: string;

  @QueryText({ max: 100, description: 'Only executions of this W3C trace.' })
  readonly traceId?: string;

  @QueryText({
    max: MAX_PRINCIPAL_CHARACTERS,
    description: 'Only executions on behalf of this subject, such as `user:4711`.',
  })
  readonly principal?: string;

  @QueryText({ max: 100, description: 'Only executions that the grant with this id authorised.' })
  readonly grantId?: string;

  @QueryText({ max: 200, description: 'Only executions in this run.' })
  readonly run?: string;

  @QueryText({
    max: 40,
    description: 'Only executions through this upstream of a gateway. Required from a key with the scope `report`.',
  })
  readonly via?: string;

  @QueryText({ max: TEAM.max, description: 'Only executions of agents that are in this team now.' })
  readonly team?: string;

  @QueryTimestamp({
    description: 'Only executions begun from this time on: RFC 3339 with a zone, or a date (midnight UTC).',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'Only executions begun up to and including this time.' })
  readonly to?: string;
}

/** The alternative that the rejecting reviewer would approve. */
class InsteadResponse {
  @ApiProperty({ type: 'object', additionalProperties: true, example: { amount: 80 } })
  readonly parameters!: Readonly<Record<string, unknown>>;

  @ApiNullableText('The grant that allows it once. Null: it needs an approval of its own.', sampleId('grt'))
  readonly grantId!: string | null;
}

/** Comment and alternative of the rejecting reviewer. */
class RejectionResponse {
  @ApiProperty({ type: String, nullable: true, example: 'Not this supplier.' })
  readonly comment!: string | null;

  @ApiMember('What would be approved instead.', { type: InsteadResponse, nullable: true, example: null })
  readonly instead!: InsteadResponse | null;
}

/** The principal on whose behalf an agent acts. */
export class OnBehalfOfResponse {
  @ApiMember('`agent:<id>` of a registered person, whose own roles count.', { example: 'user:4711' })
  readonly subject!: string;

  @ApiPropertyOptional({ type: [String], example: ['finance'], description: 'In order; absent if there are none.' })
  readonly roles?: readonly string[];
}

export class ExecutionResponse extends OmitType(Execution, [
  ...(['createdSequence', 'entityId', 'principal', 'resourceKey', 'runBy', 'resumedSequence'] as const),
  // Members that are shown in another order.
  ...(['traceId', 'onBehalfOf', 'run', 'via', 'grantId', 'instead', 'observed', 'erased'] as const),
] as const) {
  @ApiNullableText('The W3C trace of the request that made it: from its `traceparent` header. Null without one.')
  readonly traceId!: string | null;

  @ApiMember('On whose behalf the agent acts. Null: on nobody’s in particular.', {
    type: OnBehalfOfResponse,
    nullable: true,
    example: null,
  })
  readonly onBehalfOf!: OnBehalfOfResponse | null;

  @ApiNullableText('The conversation or task of the agent.')
  readonly run!: string | null;

  @ApiNullableText(
    'The upstream of the gateway that requested it. Then only the gateway reports its outcome.',
    'payments',
  )
  readonly via!: string | null;

  @ApiNullableText('The grant that authorised it.')
  readonly grantId!: string | null;

  @ApiMember('What the reviewer who rejected it would approve.', {
    type: InsteadResponse,
    nullable: true,
    example: null,
  })
  readonly instead!: InsteadResponse | null;

  @ApiPropertyOptional({
    example: true,
    description:
      'True if no policy allowed it, and it was authorised only because its agent was observed; absent otherwise.',
  })
  readonly observed?: true;

  @ApiPropertyOptional({ example: true, description: 'True once its contents were erased; absent until then.' })
  readonly erased?: true;

  @ApiPropertyOptional({
    example: 'eyJhbGciOiJFUzI1NiIs…',
    description:
      'A JWT for the requested audience. Only in answers of execute and resume that authorise, and only ' +
      'until it expires.',
  })
  readonly permit?: string;

  @ApiMember('What the reviewer who rejected it said; null if nobody did. Only in the answer for a single execution.', {
    type: RejectionResponse,
    nullable: true,
    required: false,
    example: null,
  })
  readonly rejection?: RejectionResponse | null;

  static from(this: void, { observed, erased, ...row }: Execution, permit: string | null = null): ExecutionResponse {
    return shownExecution({
      ...row,
      policies: row.policies.map(DecidingPolicyResponse.from),
      ...(permit !== null && { permit }),
      ...(observed && { observed: true as const }),
      ...(erased && { erased: true as const }),
    });
  }
}

const shownExecution: ResponseMapper<ExecutionResponse> = responseMapper(ExecutionResponse);
