import { ApiProperty } from '@nestjs/swagger';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { RISK_LEVELS, type RiskLevel } from '../../../core/config/variables/governance-variables';
import { ANY_JSON_SCHEMA } from '../../../core/json/json-value';
import { type Day, DAYS } from '../conditions/clock';
import { CONDITION_OPERATORS, type PolicyCondition } from '../conditions/condition';
import type { ApprovalRequirement } from '../approval/approval-requirement';
import { POLICY_EFFECTS, type PolicyEffect } from '../evaluation/evaluation';
import { type Policy, POLICY_STATUSES, type PolicyStatus } from '../policy.entity';

export class ApproverGroupResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiProperty({ type: 'integer', example: 1, description: 'By different reviewers.' })
  readonly approvals!: number;
}

export class ApprovalResponse {
  @ApiProperty({ enum: RISK_LEVELS, enumName: 'RiskLevel', example: 'medium' })
  readonly riskLevel!: RiskLevel;

  @ApiProperty({ type: [ApproverGroupResponse], description: 'All of them are needed.' })
  readonly approvers!: readonly ApproverGroupResponse[];

  @ApiProperty({ example: 'P1D', description: 'How much time there is to decide; an ISO 8601 duration.' })
  readonly decideWithin!: string;

  @ApiProperty({ example: 'PT1H', description: 'How long an approval is valid; an ISO 8601 duration.' })
  readonly executeWithin!: string;

  static from(
    this: void,
    { riskLevel, approvers, decideWithin, executeWithin }: ApprovalRequirement,
  ): ApprovalResponse {
    const groups = approvers.map(({ subjects, approvals }) => ({ subjects, approvals }));
    return { riskLevel, approvers: groups, decideWithin, executeWithin };
  }
}

export class ConditionResponse {
  @ApiProperty({ required: false, example: '/amount', description: 'A JSON Pointer (RFC 6901) into the parameters.' })
  readonly parameter?: string;

  @ApiProperty({ required: false, example: 'Europe/Berlin', description: 'Instead of a parameter: a time zone.' })
  readonly clock?: string;

  @ApiProperty({
    required: false,
    enum: DAYS,
    enumName: 'DayOfWeek',
    isArray: true,
    nullable: true,
    description: 'With `clock`. Without it every day.',
  })
  readonly days?: readonly Day[] | null;

  @ApiProperty({ enum: CONDITION_OPERATORS, enumName: 'ConditionOperator', example: 'lte' })
  readonly op!: PolicyCondition['op'];

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 100 })
  readonly value!: PolicyCondition['value'];
}

export class PolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ example: 'Collections agents may send reminders.' })
  readonly description!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly effect!: PolicyEffect;

  @ApiProperty({ type: [String], example: ['role:collections'] })
  readonly subjects!: readonly string[];

  @ApiProperty({ type: [String], example: ['send-reminder'] })
  readonly actions!: readonly string[];

  @ApiProperty({ type: [String], example: ['invoices/*'] })
  readonly resources!: readonly string[];

  @ApiProperty({ type: [String], example: ['document'], description: 'None: any type.' })
  readonly resourceTypes!: readonly string[];

  @ApiProperty({ type: 'integer', example: 10 })
  readonly priority!: number;

  @ApiProperty({ type: [ConditionResponse], example: [], description: 'All of them must hold.' })
  readonly conditions!: readonly ConditionResponse[];

  @ApiProperty({
    type: ApprovalResponse,
    nullable: true,
    example: null,
    description: 'What has to be approved; null unless the effect is `require_approval`.',
  })
  readonly approval!: ApprovalResponse | null;

  @ApiProperty({
    enum: POLICY_STATUSES,
    enumName: 'PolicyStatus',
    example: 'active',
    description:
      '`active`: in force. `superseded`: another version took its place. `inactive`: taken out of force by `/deactivate`.',
  })
  readonly status!: PolicyStatus;

  @ApiProperty({ type: [String], example: [], description: 'Parts of the policy that match nothing, and why.' })
  readonly warnings!: readonly string[];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, row: Policy): PolicyResponse {
    const { id, name, version, description, effect, subjects, actions, resources, resourceTypes } = row;
    const { priority, conditions, status, warnings, createdAt } = row;
    const approval = row.approval === null ? null : ApprovalResponse.from(row.approval);
    return {
      id,
      name,
      version,
      description,
      effect,
      subjects,
      actions,
      resources,
      resourceTypes,
      priority,
      conditions,
      approval,
      status,
      warnings,
      createdAt,
    };
  }
}
