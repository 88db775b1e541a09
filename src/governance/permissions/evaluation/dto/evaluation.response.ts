import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableChoice } from '../../../../http/openapi/response-members';
import { decimalText } from '../../../../core/values/decimal';
import { sampleId } from '../../../../http/openapi/documentation.decorators';
import type { LimitUse } from '../../../policies/limits/limit';
import { ANSWER_REASONS, type PermissionReason, type PermissionResult } from '../../permissions';
import { DecidingPolicyResponse } from '../../../executions/execution.entity';
import { ApprovalResponse } from '../../../policies/approval/approval-input';
import {
  type MatchedPolicy,
  MAX_MATCHED,
  MAX_NEAREST,
  POLICY_PARTS,
  type PolicyPart,
} from '../../../policies/evaluation/explanation';
import { POLICY_EFFECTS, type PolicyEffect } from '../../../policies/evaluation/evaluation';

const POLICY_SET = {
  example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  description:
    'Which policies were in force: hex SHA-256 of the RFC 8785 array of their sorted ids. Audit entries name it, too.',
};

class MatchedPolicyResponse {
  @ApiProperty({ type: DecidingPolicyResponse })
  readonly policy!: DecidingPolicyResponse;

  @ApiProperty({ example: true })
  readonly decided!: boolean;

  @ApiNullableChoice(
    ['priority', 'effect'],
    'Why it did not decide: another has a higher priority, or at the same priority a stronger effect.',
  )
  readonly lostTo!: MatchedPolicy['lostTo'];
}

class NearPolicyResponse {
  @ApiProperty({ type: DecidingPolicyResponse })
  readonly policy!: DecidingPolicyResponse;

  @ApiProperty({ enum: POLICY_PARTS, enumName: 'PolicyPart', isArray: true, example: ['subject'] })
  readonly missing!: readonly PolicyPart[];
}

/** A policy with limits. */
class LimitedPolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: 'spend-alone' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;
}

/**
 * The use that the request would make of a limit, of a policy that matches in every other respect; amounts are text.
 */
export class ExplainedLimitResponse {
  @ApiProperty({ type: LimitedPolicyResponse })
  readonly policy!: LimitedPolicyResponse;

  @ApiMember('The index of the limit.', { type: 'integer', example: 0 })
  readonly limit!: number;

  @ApiProperty({ example: '1000' })
  readonly max!: string;

  @ApiMember('In this window.', { example: '250.5' })
  readonly used!: string;

  @ApiMember('Null if the parameters have no amount that counts.', { type: 'string', nullable: true, example: '80' })
  readonly asked!: string | null;

  @ApiMember('When the next window begins.', { format: 'date-time', example: '2026-11-21T00:00:00.000Z' })
  readonly resetsAt!: string;

  static from(this: void, { policy, limit, max, before, amount, resetsAt }: LimitUse): ExplainedLimitResponse {
    const { id, name, version } = policy;
    const requestedAmount = amount === null ? null : decimalText(amount);
    const [most, used] = [decimalText(max), decimalText(before)];
    return { policy: { id, name, version }, limit, max: most, used, asked: requestedAmount, resetsAt };
  }
}

export class ExplanationResponse {
  @ApiMember('Number of policies in force.', { type: 'integer', example: 3 })
  readonly inForce!: number;

  @ApiMember(
    'Policies that match; those that decided come first. For an agent that is suspended or lacks the capability: as ' +
      'if it could act.',
    { type: [MatchedPolicyResponse], maxItems: MAX_MATCHED },
  )
  readonly matched!: readonly MatchedPolicyResponse[];

  @ApiMember(
    'Policies of which only one part does not match, and which would otherwise have improved the answer; by ' +
      'priority, then age.',
    { type: [NearPolicyResponse], maxItems: MAX_NEAREST },
  )
  readonly nearest!: readonly NearPolicyResponse[];

  @ApiMember(
    'The limits of policies that match in every other respect, and the requested use of each. Empty with `asOf`, where ' +
      'no limit counts as reached.',
    {
      type: [ExplainedLimitResponse],
    },
  )
  readonly limits!: readonly ExplainedLimitResponse[];

  @ApiChoice(
    ['PolicyEffect', POLICY_EFFECTS],
    'allow',
    'The best effect that this request could have with any parameters: each policy with conditions or limits may match or not. `deny`: no parameters could make it allowed.',
  )
  readonly bestEffect!: PolicyEffect;
}

export class AnswerResponse {
  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly effect!: PolicyEffect;

  @ApiNullableChoice(ANSWER_REASONS, 'Null if it is allowed.')
  readonly reason!: PermissionReason | null;

  @ApiMember('The first ten that decided, oldest first.', { type: [DecidingPolicyResponse], maxItems: 10 })
  readonly policies!: readonly DecidingPolicyResponse[];

  @ApiMember('The approval that is required first, combined from all policies that decided; null if none is.', {
    type: ApprovalResponse,
    nullable: true,
  })
  readonly approval!: ApprovalResponse | null;

  @ApiMember('True if no policy allows it, and it is allowed only because the agent is observed; absent otherwise.', {
    type: Boolean,
    required: false,
  })
  readonly observed?: true;

  @ApiMember('The grant that allows it without another approval; absent without one.', {
    required: false,
    example: sampleId('grt'),
  })
  readonly grantId?: string;

  @ApiMember('With `explain`.', { type: ExplanationResponse, required: false })
  readonly explanation?: ExplanationResponse;

  /** Makes the response, without members of the result that are not for callers. */
  static from(this: void, result: PermissionResult): AnswerResponse {
    const { effect, reason, policies, requirement: approval, observed, grantId } = result;
    const more = { ...(observed && { observed }), ...(grantId !== undefined && { grantId }) };
    return { effect, reason, policies, approval, ...more };
  }
}

export class EvaluationResponse extends AnswerResponse {
  @ApiProperty(POLICY_SET)
  readonly policySet!: string;
}

export class EvaluationsResponse {
  @ApiMember('In the order of the requests.', { type: [AnswerResponse] })
  readonly results!: readonly AnswerResponse[];

  @ApiProperty(POLICY_SET)
  readonly policySet!: string;
}
