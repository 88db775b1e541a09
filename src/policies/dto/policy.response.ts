import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../docs/sample-id';
import { POLICY_EFFECTS } from '../evaluation/policy-effect';
import type { PolicyEffect } from '../evaluation/policy-effect';
import { POLICY_STATUSES } from '../policy.entity';
import type { Policy, PolicyStatus } from '../policy.entity';

export class PolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: 'billing-may-invoice' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ example: 'Billing agents may send invoices.' })
  readonly description!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, example: 'allow' })
  readonly effect!: PolicyEffect;

  @ApiProperty({ type: [String], example: ['role:billing'] })
  readonly subjects!: readonly string[];

  @ApiProperty({ type: [String], example: ['send-invoice'] })
  readonly actions!: readonly string[];

  @ApiProperty({ type: [String], example: ['invoices/*'] })
  readonly resources!: readonly string[];

  @ApiProperty({ type: [String], example: ['document'], description: 'None: any type.' })
  readonly resourceTypes!: readonly string[];

  @ApiProperty({ type: 'integer', example: 10 })
  readonly priority!: number;

  @ApiProperty({
    enum: POLICY_STATUSES,
    example: 'active',
    description:
      '`active`: in force. `superseded`: another version took its place. `inactive`: taken out of force by `/deactivate`.',
  })
  readonly status!: PolicyStatus;

  @ApiProperty({ type: [String], example: [], description: 'What in the policy matches nothing, and why.' })
  readonly warnings!: readonly string[];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, row: Policy): PolicyResponse {
    const { id, name, version, description, effect, subjects, actions, resources, resourceTypes } = row;
    const { priority, status, warnings, createdAt } = row;
    return {
      ...{ id, name, version, description, effect, subjects, actions, resources, resourceTypes },
      ...{ priority, status, warnings, createdAt },
    };
  }
}
