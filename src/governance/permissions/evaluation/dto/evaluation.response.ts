import { ApiProperty } from '@nestjs/swagger';
import { ANSWER_REASONS, type AnswerReason } from '../../permissions';
import { DecidingPolicyResponse } from '../../../executions/dto/execution.response';
import { ApprovalResponse } from '../../../policies/dto/policy.response';
import {
  type MatchedPolicy,
  MOST_MATCHED,
  MOST_NEAREST,
  type NearPolicy,
  POLICY_PARTS,
  type PolicyPart,
} from '../../../policies/evaluation/explanation';
import { POLICY_EFFECTS, type PolicyEffect } from '../../../policies/evaluation/evaluation';
import type { AnswerExplanation, ExplainedAnswer } from '../evaluations.service';

const POLICY_SET = {
  example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  description:
    'Which policies were in force: hex SHA-256 of the RFC 8785 array of their sorted ids. Audit entries name it, too.',
};

export class MatchedPolicyResponse {
  @ApiProperty({ type: DecidingPolicyResponse })
  readonly policy!: DecidingPolicyResponse;

  @ApiProperty({ example: true })
  readonly decided!: boolean;

  @ApiProperty({
    type: String,
    enum: ['priority', 'effect', null],
    nullable: true,
    example: null,
    description: 'Why it did not decide: another has a higher priority, or at the same priority a stronger effect.',
  })
  readonly lostTo!: MatchedPolicy['lostTo'];

  static from(this: void, { policy, decided, lostTo }: MatchedPolicy): MatchedPolicyResponse {
    return { policy: DecidingPolicyResponse.from(policy), decided, lostTo };
  }
}

export class NearPolicyResponse {
  @ApiProperty({ type: DecidingPolicyResponse })
  readonly policy!: DecidingPolicyResponse;

  @ApiProperty({ enum: POLICY_PARTS, enumName: 'PolicyPart', isArray: true, example: ['subject'] })
  readonly missing!: readonly PolicyPart[];

  static from(this: void, { policy, missing }: NearPolicy): NearPolicyResponse {
    return { policy: DecidingPolicyResponse.from(policy), missing };
  }
}

export class ExplanationResponse {
  @ApiProperty({ type: 'integer', example: 3, description: 'Number of policies in force.' })
  readonly inForce!: number;

  @ApiProperty({
    type: [MatchedPolicyResponse],
    maxItems: MOST_MATCHED,
    description:
      'Those that match; those that decided come first. For an agent that is suspended or lacks the capability: as if it could act.',
  })
  readonly matched!: readonly MatchedPolicyResponse[];

  @ApiProperty({
    type: [NearPolicyResponse],
    maxItems: MOST_NEAREST,
    description:
      'Policies that do not match in one part only, and would otherwise have improved the answer; by priority, then age.',
  })
  readonly nearest!: readonly NearPolicyResponse[];

  @ApiProperty({
    enum: POLICY_EFFECTS,
    enumName: 'PolicyEffect',
    example: 'allow',
    description:
      'The best effect that this request could have with any parameters: each policy with conditions may match or not. `deny`: no parameters could make it allowed.',
  })
  readonly bestEffect!: PolicyEffect;

  static from(this: void, { inForce, matched, nearest, bestEffect }: AnswerExplanation): ExplanationResponse {
    return {
      ...{ inForce, bestEffect },
      matched: matched.map(MatchedPolicyResponse.from),
      nearest: nearest.map(NearPolicyResponse.from),
    };
  }
}

export class AnswerResponse {
  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly effect!: PolicyEffect;

  @ApiProperty({
    type: String,
    enum: [...ANSWER_REASONS, null],
    nullable: true,
    example: null,
    description: 'Null if it is allowed.',
  })
  readonly reason!: AnswerReason | null;

  @ApiProperty({ type: [DecidingPolicyResponse], maxItems: 10, description: 'The first that decided, oldest first.' })
  readonly policies!: readonly DecidingPolicyResponse[];

  @ApiProperty({
    type: ApprovalResponse,
    nullable: true,
    description: 'The approval that is required first, combined from all policies that decided; otherwise null.',
  })
  readonly approval!: ApprovalResponse | null;

  @ApiProperty({ type: ExplanationResponse, required: false, description: 'With `explain`.' })
  readonly explanation?: ExplanationResponse;

  static from(this: void, { answer, explanation }: ExplainedAnswer): AnswerResponse {
    const { effect, reason, policies, requirement } = answer;
    const approval = requirement === null ? null : ApprovalResponse.from(requirement);
    const response = { effect, reason, policies, approval };
    return explanation === null ? response : { ...response, explanation: ExplanationResponse.from(explanation) };
  }
}

/** The answer to one question. */
export class EvaluationResponse extends AnswerResponse {
  @ApiProperty(POLICY_SET)
  readonly policySet!: string;
}

/** The answers to a list of questions. */
export class EvaluationsResponse {
  @ApiProperty({ type: [AnswerResponse], description: 'In the order of the requests.' })
  readonly results!: readonly AnswerResponse[];

  @ApiProperty(POLICY_SET)
  readonly policySet!: string;
}
