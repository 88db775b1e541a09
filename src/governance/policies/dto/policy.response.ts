import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { RISK_LEVELS, type RiskLevel } from '../../../core/config/variables/governance-variables';
import { ANY_JSON_SCHEMA } from '../../../core/json/json-value';
import { type Day, DAYS } from '../conditions/clock';
import { CONDITION_OPERATORS, type PolicyCondition } from '../conditions/condition';
import { type LimitPeriod, type LimitScope, LIMIT_PERIODS, LIMIT_SCOPES } from '../limits/limit';
import type { ApprovalRequirement } from '../approval/approval-requirement';
import { POLICY_EFFECTS, type PolicyEffect } from '../evaluation/evaluation';
import { type Policy, POLICY_STATUSES, type PolicyStatus } from '../policy.entity';

export class ApproverGroupResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiMember('By different reviewers.', { type: 'integer', example: 1 })
  readonly approvals!: number;

  @ApiMember('Only reviews signed with a passkey count; absent: any does.', { required: false, example: true })
  readonly signed?: true;
}

export class GrantAllowanceResponse {
  @ApiMember('An ISO 8601 duration.', { example: 'PT1H' })
  readonly for!: string;

  @ApiMember('Null: any number.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @ApiMember('Whether it may be for other resources and for any parameters.', { example: false })
  readonly wider!: boolean;
}

export class ApprovalResponse {
  @ApiProperty({ enum: RISK_LEVELS, enumName: 'RiskLevel', example: 'medium' })
  readonly riskLevel!: RiskLevel;

  @ApiMember('All of them are needed.', { type: [ApproverGroupResponse] })
  readonly approvers!: readonly ApproverGroupResponse[];

  @ApiMember('How much time there is to decide; an ISO 8601 duration.', { example: 'P1D' })
  readonly decideWithin!: string;

  @ApiMember('How long an approval is valid; an ISO 8601 duration.', { example: 'PT1H' })
  readonly executeWithin!: string;

  @ApiMember('The most that its approvers may give at once. Absent: each action is asked for.', {
    type: GrantAllowanceResponse,
    required: false,
  })
  readonly grant?: GrantAllowanceResponse;

  static from(
    this: void,
    { riskLevel, approvers, decideWithin, executeWithin, grant }: ApprovalRequirement,
  ): ApprovalResponse {
    return { riskLevel, approvers, decideWithin, executeWithin, ...(grant && { grant }) };
  }
}

export class ConditionResponse {
  @ApiMember('A JSON Pointer (RFC 6901) into the parameters.', { required: false, example: '/amount' })
  readonly parameter?: string;

  @ApiMember('Instead of a parameter: a time zone.', { required: false, example: 'Europe/Berlin' })
  readonly clock?: string;

  @ApiMember('With `clock`. Without it every day.', {
    required: false,
    enum: DAYS,
    enumName: 'DayOfWeek',
    isArray: true,
    nullable: true,
  })
  readonly days?: readonly Day[] | null;

  @ApiMember('Instead of a parameter: an action, or a pattern of actions, done before in the same run.', {
    required: false,
    example: 'look-up',
  })
  readonly earlier?: string;

  @ApiMember('With `earlier`: on the same resource.', {
    required: false,
    type: String,
    enum: ['same', null],
    nullable: true,
    example: 'same',
  })
  readonly resource?: 'same' | null;

  @ApiMember('A predicate of claims on the entity that the resource names.', { required: false, example: 'iban' })
  readonly claim?: string;

  @ApiProperty({ enum: CONDITION_OPERATORS, enumName: 'ConditionOperator', example: 'lte' })
  readonly op!: PolicyCondition['op'];

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 100 })
  readonly value!: PolicyCondition['value'];
}

export class PolicyLimitResponse {
  @ApiProperty({ example: 1000 })
  readonly max!: number;

  @ApiMember('A JSON Pointer to the amount among the parameters. Without it each execution counts 1.', {
    required: false,
    example: '/amount',
  })
  readonly of?: string;

  @ApiProperty({ enum: LIMIT_PERIODS, enumName: 'LimitPeriod', example: 'day' })
  readonly per!: LimitPeriod;

  @ApiChoice(['LimitScope', LIMIT_SCOPES], 'agent', 'Whether it counts for each agent, or for all together.')
  readonly by!: LimitScope;
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

  @ApiMember('None: any type.', { type: [String], example: ['document'] })
  readonly resourceTypes!: readonly string[];

  @ApiProperty({ type: 'integer', example: 10 })
  readonly priority!: number;

  @ApiMember('All of them must hold.', { type: [ConditionResponse], example: [] })
  readonly conditions!: readonly ConditionResponse[];

  @ApiMember('How much it allows by itself.', { type: [PolicyLimitResponse], example: [] })
  readonly limits!: readonly PolicyLimitResponse[];

  @ApiMember('On whose behalf; none: anybody’s, or nobody’s.', { type: [String], example: [] })
  readonly onBehalfOf!: readonly string[];

  @ApiMember('What has to be approved; null unless the effect is `require_approval`.', {
    type: ApprovalResponse,
    nullable: true,
    example: null,
  })
  readonly approval!: ApprovalResponse | null;

  @ApiChoice(
    ['PolicyStatus', POLICY_STATUSES],
    'active',
    '`active`: in force. `superseded`: another version took its place. `inactive`: taken out of force by `/deactivate`.',
  )
  readonly status!: PolicyStatus;

  @ApiMember('Parts of the policy that match nothing, and why.', { type: [String], example: [] })
  readonly warnings!: readonly string[];

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  static from(this: void, row: Policy): PolicyResponse {
    const { id, name, version, description, effect, subjects, actions, resources, resourceTypes } = row;
    const { priority, conditions, limits, onBehalfOf, status, warnings, createdAt } = row;
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
      limits,
      onBehalfOf,
      approval,
      status,
      warnings,
      createdAt,
    };
  }
}
