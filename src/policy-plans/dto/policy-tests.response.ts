import { ApiProperty } from '@nestjs/swagger';
import { ANSWER_REASONS, type AnswerReason } from '../../authorization/permission';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/policy-effect';
import { sampleId } from '../../openapi/sample-id';
import type { PolicyTestResults } from '../policy-tests';

/** A policy that decides a test. */
export class TestedPolicyResponse {
  @ApiProperty({
    type: String,
    nullable: true,
    example: sampleId('pol'),
    description: 'Null for a policy to be created.',
  })
  readonly id!: string | null;

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'deny' })
  readonly effect!: PolicyEffect;
}

/** A test that was not answered as expected. */
export class FailedPolicyTestResponse {
  @ApiProperty({ type: 'integer', example: 0, description: 'Its place in `tests`, from 0.' })
  readonly index!: number;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly expect!: PolicyEffect;

  @ApiProperty({
    enum: POLICY_EFFECTS,
    enumName: 'PolicyEffect',
    example: 'deny',
    description: 'The actual answer; equal to the expected one if only `by` is not among the policies that decide.',
  })
  readonly effect!: PolicyEffect;

  @ApiProperty({
    type: String,
    enum: [...ANSWER_REASONS, null],
    nullable: true,
    example: 'policy_denied',
    description: 'Null if it is allowed.',
  })
  readonly reason!: AnswerReason | null;

  @ApiProperty({ type: [TestedPolicyResponse], maxItems: 10, description: 'The first that decide, oldest first.' })
  readonly policies!: readonly TestedPolicyResponse[];
}

/** The results of the tests of a planned set. */
export class PolicyTestsResponse {
  @ApiProperty({ type: 'integer', example: 1, description: 'How many got the expected answer.' })
  readonly passed!: number;

  @ApiProperty({ type: [FailedPolicyTestResponse], example: [] })
  readonly failed!: readonly FailedPolicyTestResponse[];

  static from(this: void, { passed, failed }: PolicyTestResults): PolicyTestsResponse {
    return {
      passed,
      failed: failed.map(({ index, expect, answer: { effect, reason }, policies }) => {
        return { index, expect, effect, reason, policies };
      }),
    };
  }
}
