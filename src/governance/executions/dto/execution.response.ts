import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { ANY_JSON_SCHEMA, type JsonObject, type JsonValue } from '../../../core/json/json-value';
import { type DecidingPolicy, POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/evaluation';
import { type Execution, EXECUTION_OUTCOMES, type ExecutionOutcome } from '../execution.entity';

export class DecidingPolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly effect!: PolicyEffect;

  static from(this: void, { id, name, version, effect }: DecidingPolicy): DecidingPolicyResponse {
    return { id, name, version, effect };
  }
}

const OUTCOMES =
  '`authorized`: allowed, and carried out by the caller, since no handler is registered. `executed`: a handler ran; `result` ' +
  'is what it returned. `failed`: it threw or took too long. `running`: it runs. `interrupted`: the service stopped meanwhile. ' +
  '`denied`: refused, for `reason`. `pending_approval`: waits for its decision. `approved`: may be resumed, once, until ' +
  '`approvedUntil`. `rejected`, `expired`, `cancelled`: how its approval ended.';

/** What the reviewer who rejected would approve. */
export class InsteadResponse {
  @ApiProperty({ type: 'object', additionalProperties: true, example: { amount: 80 } })
  readonly parameters!: Readonly<Record<string, unknown>>;

  @ApiProperty({
    type: String,
    nullable: true,
    example: sampleId('grt'),
    description: 'The grant for it, once. Null: it has to be asked for.',
  })
  readonly grantId!: string | null;
}

/** What the reviewer who rejected said. */
export class RejectionResponse {
  @ApiProperty({ type: String, nullable: true, example: 'Not this supplier.' })
  readonly comment!: string | null;

  @ApiProperty({ type: InsteadResponse, nullable: true, example: null, description: 'What would be approved instead.' })
  readonly instead!: InsteadResponse | null;
}

/** On whose behalf an agent acts. */
export class OnBehalfOfResponse {
  @ApiProperty({ example: 'user:4711', description: '`agent:<id>` of a registered person, whose own roles count.' })
  readonly subject!: string;

  @ApiPropertyOptional({ type: [String], example: ['finance'], description: 'In order; absent if there are none.' })
  readonly roles?: readonly string[];
}

export class ExecutionResponse {
  @ApiProperty({ example: sampleId('exe') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiProperty({ example: 'reminder-bot' })
  readonly agentName!: string;

  @ApiProperty({ example: 'send-reminder' })
  readonly action!: string;

  @ApiProperty({ example: 'document' })
  readonly resourceType!: string;

  @ApiProperty({ example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { to: 'customer@example.com' } })
  readonly parameters!: JsonObject;

  @ApiProperty({ enum: EXECUTION_OUTCOMES, enumName: 'ExecutionOutcome', example: 'authorized', description: OUTCOMES })
  readonly outcome!: ExecutionOutcome;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'For machines: why it was denied.' })
  readonly reason!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    description:
      'Hex SHA-256 of the RFC 8785 form of agentId, action, resourceType, resourceId, parameters and, if given, onBehalfOf.',
  })
  readonly actionHash!: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'Until when an approval can be used.',
  })
  readonly approvedUntil!: string | null;

  @ApiProperty({ type: [DecidingPolicyResponse], maxItems: 10, description: 'The policies that decided.' })
  readonly policies!: readonly DecidingPolicyResponse[];

  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The decision that settles a pending approval.',
  })
  readonly decisionId!: string | null;

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: null, description: 'What the handler returned: any JSON value.' })
  readonly result!: JsonValue;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'A sentence.' })
  readonly failureReason!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'Null while `pending_approval`, `approved`, `authorized` or `running`.',
  })
  readonly completedAt!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The W3C trace of the request that made it: from its `traceparent` header. Null without one.',
  })
  readonly traceId!: string | null;

  @ApiProperty({
    type: OnBehalfOfResponse,
    nullable: true,
    example: null,
    description: 'On whose behalf the agent acts. Null: on nobody in particular.',
  })
  readonly onBehalfOf!: OnBehalfOfResponse | null;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'The conversation or task of the agent.' })
  readonly run!: string | null;

  @ApiProperty({ type: String, nullable: true, example: null, description: 'The grant that authorised it.' })
  readonly grantId!: string | null;

  @ApiProperty({
    type: InsteadResponse,
    nullable: true,
    example: null,
    description: 'What the reviewer who rejected it would approve.',
  })
  readonly instead!: InsteadResponse | null;

  @ApiPropertyOptional({
    example: true,
    description:
      'True where no policy allowed it, and it was authorised because its agent was observed; absent otherwise.',
  })
  readonly observed?: true;

  @ApiPropertyOptional({ example: true, description: 'True once its contents were erased; absent until then.' })
  readonly erased?: true;

  @ApiPropertyOptional({
    example: 'eyJhbGciOiJFUzI1NiIs…',
    description:
      'A JWT for the audience that was asked for. Only in answers of execute and resume that authorise, and until it expires.',
  })
  readonly permit?: string;

  @ApiProperty({
    type: RejectionResponse,
    nullable: true,
    required: false,
    example: null,
    description: 'What the reviewer who rejected it said. Only where a single execution is read; null unless one did.',
  })
  readonly rejection?: RejectionResponse | null;

  static from(this: void, row: Execution, permit: string | null = null): ExecutionResponse {
    const { id, agentId, agentName, action, resourceType, resourceId, parameters, outcome } = row;
    const { reason, actionHash, approvedUntil, decisionId, result, failureReason, createdAt, completedAt } = row;
    const { traceId, onBehalfOf, run, grantId, instead } = row;
    const policies = row.policies.map(DecidingPolicyResponse.from);
    return {
      id,
      agentId,
      agentName,
      action,
      resourceType,
      resourceId,
      parameters,
      outcome,
      reason,
      actionHash,
      approvedUntil,
      policies,
      decisionId,
      result,
      failureReason,
      createdAt,
      completedAt,
      traceId,
      onBehalfOf,
      run,
      grantId,
      instead,
      ...(permit !== null && { permit }),
      ...(row.observed && { observed: true as const }),
      ...(row.erased && { erased: true as const }),
    };
  }
}
