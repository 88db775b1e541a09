import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../docs/sample-id';
import { ANY_JSON_SCHEMA } from '../../json/any-json-schema';
import type { JsonObject, JsonValue } from '../../json/json-value';
import type { DecidingPolicy } from '../../policies/evaluation/evaluation-request';
import { POLICY_EFFECTS } from '../../policies/evaluation/policy-effect';
import type { PolicyEffect } from '../../policies/evaluation/policy-effect';
import { EXECUTION_OUTCOMES } from '../execution.entity';
import type { Execution, ExecutionOutcome } from '../execution.entity';

export class DecidingPolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: 'billing-may-invoice' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, example: 'allow' })
  readonly effect!: PolicyEffect;

  static from(this: void, { id, name, version, effect }: DecidingPolicy): DecidingPolicyResponse {
    return { id, name, version, effect };
  }
}

const OUTCOMES =
  '`authorized`: allowed, and carried out by the caller, since no handler is registered. `executed`: a handler ran; `result` ' +
  'is what it returned. `failed`: it threw or took too long. `running`: it runs. `interrupted`: the service stopped meanwhile. ' +
  '`denied`: refused. `pending_approval`: waits for a decision.';

export class ExecutionResponse {
  @ApiProperty({ example: sampleId('exe') })
  readonly id!: string;

  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiProperty({ example: 'invoice-bot' })
  readonly agentName!: string;

  @ApiProperty({ example: 'send-invoice' })
  readonly action!: string;

  @ApiProperty({ example: 'document' })
  readonly resourceType!: string;

  @ApiProperty({ example: 'invoices/2026/0042' })
  readonly resourceId!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { to: 'customer@example.com' } })
  readonly parameters!: JsonObject;

  @ApiProperty({ enum: EXECUTION_OUTCOMES, example: 'authorized', description: OUTCOMES })
  readonly outcome!: ExecutionOutcome;

  @ApiProperty({ type: [DecidingPolicyResponse], maxItems: 10, description: 'The policies that decided.' })
  readonly policies!: readonly DecidingPolicyResponse[];

  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The decision that settles a pending approval.',
  })
  readonly decisionId!: string | null;

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: null, description: 'What the handler returned: any JSON.' })
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
    description: 'Null while `authorized`, `running` or `pending_approval`.',
  })
  readonly completedAt!: string | null;

  static from(this: void, row: Execution): ExecutionResponse {
    const { id, agentId, agentName, action, resourceType, resourceId, parameters, outcome } = row;
    const { decisionId, result, failureReason, createdAt, completedAt } = row;
    const policies = row.policies.map(DecidingPolicyResponse.from);
    return {
      ...{ id, agentId, agentName, action, resourceType, resourceId, parameters, outcome },
      ...{ policies, decisionId, result, failureReason, createdAt, completedAt },
    };
  }
}
