import { ApiProperty } from '@nestjs/swagger';
import { ANSWER_REASONS, type AnswerReason } from '../../permissions/permissions';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/evaluation';
import { sampleId, SAMPLE_POLICY_SET } from '../../../http/openapi/documentation.decorators';
import type { PolicyTestResults } from '../policy-tests';
import { EXECUTION_OUTCOMES, type ExecutionOutcome } from '../../executions/execution.entity';
import { ApproverGroupResponse } from '../../policies/dto/policy.response';
import type { PlannedVerdict } from '../effects/effect';
import type { PolicyChange } from '../policy-changes';

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

const VERDICTS = ['allow', 'deny', 'require_approval', 'no_policy'] as const;
const CHANGES = ['create', 'activate', 'deactivate', 'keep'] as const;

export class ReplacedPolicyResponse {
  @ApiProperty({ example: sampleId('pol') })
  readonly id!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;
}

export class PolicyChangeResponse {
  @ApiProperty({ enum: CHANGES, enumName: 'PolicyChange', example: 'create' })
  readonly change!: (typeof CHANGES)[number];

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.1' })
  readonly version!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Null in a plan for a policy to be created; after apply its new id.',
  })
  readonly id!: string | null;

  @ApiProperty({ type: ReplacedPolicyResponse, nullable: true, description: 'The version in force that is replaced.' })
  readonly replaces!: ReplacedPolicyResponse | null;

  /** @param id of a policy that the change has created. */
  static from(this: void, { change, policy, replaced }: PolicyChange, id: string | null = null): PolicyChangeResponse {
    const { name, version } = policy;
    const replaces = replaced === null ? null : { id: replaced.id, version: replaced.version };
    return { change, name, version, id: 'id' in policy ? policy.id : id, replaces };
  }
}

export class PatternSetResponse {
  @ApiProperty({ type: [String], example: ['*'], description: 'One of them matches.' })
  readonly in!: readonly string[];

  @ApiProperty({ type: [String], example: [], description: 'None of them matches.' })
  readonly except!: readonly string[];
}

export class PlannedVerdictResponse {
  @ApiProperty({ enum: VERDICTS, enumName: 'PlannedEffect', example: 'no_policy' })
  readonly effect!: PlannedVerdict['effect'];

  @ApiProperty({ type: [ApproverGroupResponse], required: false, description: 'With `require_approval` only.' })
  readonly approvers?: readonly ApproverGroupResponse[];
}

export class PolicyVersionResponse {
  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.1' })
  readonly version!: string;
}

export class PlannedReferenceResponse extends PolicyVersionResponse {
  @ApiProperty({ type: String, nullable: true, example: null, description: 'Null for a policy to be created.' })
  readonly id!: string | null;
}

export class EffectConditionsResponse {
  @ApiProperty({ type: [PolicyVersionResponse], description: 'Policies whose conditions let them match.' })
  readonly hold!: readonly PolicyVersionResponse[];

  @ApiProperty({ type: [PolicyVersionResponse], description: 'Policies whose conditions do not.' })
  readonly fail!: readonly PolicyVersionResponse[];
}

export class EffectReasonsResponse {
  @ApiProperty({ type: [PlannedReferenceResponse], description: 'Ten at most, oldest first.' })
  readonly from!: readonly PlannedReferenceResponse[];

  @ApiProperty({ type: [PlannedReferenceResponse], description: 'Ten at most, oldest first.' })
  readonly to!: readonly PlannedReferenceResponse[];
}

export class PlannedEffectResponse {
  @ApiProperty({ type: PlannedVerdictResponse })
  readonly from!: PlannedVerdictResponse;

  @ApiProperty({ type: PlannedVerdictResponse })
  readonly to!: PlannedVerdictResponse;

  @ApiProperty({
    type: [String],
    example: [sampleId('agt'), 'other:machine'],
    description:
      "Agents' ids; `other:machine` and `other:human`: an agent that is not registered, is of that kind, and has no roles; " +
      '`other:role:<role>` and `other:agent:<name>`: a machine with that one role, or that name, which policies list and no agent has.',
  })
  readonly subjects!: readonly string[];

  @ApiProperty({ type: PatternSetResponse })
  readonly actions!: PatternSetResponse;

  @ApiProperty({ type: PatternSetResponse, description: 'Exact names, or `*`.' })
  readonly resourceTypes!: PatternSetResponse;

  @ApiProperty({
    type: PatternSetResponse,
    description:
      'Compared with `resourceId` alone, never with the type before it. `+`: every id without `/` (the id `+` itself is `/+`); `://`: every URL. ' +
      'A percent-encoded one covers every spelling except the plain one.',
  })
  readonly resources!: PatternSetResponse;

  @ApiProperty({ type: EffectConditionsResponse })
  readonly when!: EffectConditionsResponse;

  @ApiProperty({ type: EffectReasonsResponse, description: 'Policies that decide in some request of the region.' })
  readonly because!: EffectReasonsResponse;
}

export class ShadowedPolicyResponse {
  @ApiProperty({ type: PlannedReferenceResponse })
  readonly policy!: PlannedReferenceResponse;

  @ApiProperty({ type: PlannedReferenceResponse })
  readonly by!: PlannedReferenceResponse;
}

/** A recorded execution that would be answered differently. */
export class ReplayedExecutionResponse {
  @ApiProperty({ example: sampleId('exe') })
  readonly executionId!: string;

  @ApiProperty({
    enum: EXECUTION_OUTCOMES,
    enumName: 'ExecutionOutcome',
    example: 'authorized',
    description: 'In its first entry.',
  })
  readonly recorded!: ExecutionOutcome;

  @ApiProperty({
    enum: POLICY_EFFECTS,
    enumName: 'PolicyEffect',
    example: 'allow',
    description: 'By the set in force.',
  })
  readonly was!: PolicyEffect;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'deny', description: 'By the set planned.' })
  readonly now!: PolicyEffect;

  @ApiProperty({ type: EffectReasonsResponse, description: 'The policies that decide.' })
  readonly because!: EffectReasonsResponse;
}

/** What a planned set would have decided about recorded executions. */
export class PolicyReplayResponse {
  @ApiProperty({ type: 'integer', example: 1200, description: 'Number of executions that were evaluated again.' })
  readonly executions!: number;

  @ApiProperty({ type: 'integer', example: 1, description: 'How many of them would get a different answer.' })
  readonly changed!: number;

  @ApiProperty({ example: false, description: 'Whether `REPLAY_LIMIT` or 30 seconds ended it early.' })
  readonly cut!: boolean;

  @ApiProperty({
    type: [ReplayedExecutionResponse],
    maxItems: 100,
    description: 'The newest that would get a different answer.',
  })
  readonly examples!: readonly ReplayedExecutionResponse[];
}

export class PolicyPlanResponse {
  @ApiProperty({
    example: SAMPLE_POLICY_SET,
    description: 'Identifies the set of policies now in force; `POST /policies/apply` expects it.',
  })
  readonly base!: string;

  @ApiProperty({
    type: [PolicyChangeResponse],
    description: "In the request's order, then the policies that are pruned, by name.",
  })
  readonly changes!: readonly PolicyChangeResponse[];

  @ApiProperty({
    type: [PlannedEffectResponse],
    description:
      'Which requests would get a different answer. A request lies in a region if it matches all of its parts; regions do not overlap.',
  })
  readonly effects!: readonly PlannedEffectResponse[];

  @ApiProperty({ example: true, description: 'Whether the effects are complete; those listed are true.' })
  readonly complete!: boolean;

  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Why they are not complete; null if they are.',
  })
  readonly reason!: string | null;

  @ApiProperty({
    type: [ShadowedPolicyResponse],
    description:
      'Policies of the set that never decide, since another one takes precedence and matches everything they match.',
  })
  readonly shadowed!: readonly ShadowedPolicyResponse[];

  @ApiProperty({
    type: [String],
    example: [],
    description:
      'Parts of the policies to come into force that match nothing, or more than they seem to. The first 1,000; if there are more, a last one says so.',
  })
  readonly warnings!: readonly string[];

  @ApiProperty({ type: PolicyTestsResponse, required: false, description: 'With `tests`.' })
  readonly tests?: PolicyTestsResponse;

  @ApiProperty({ type: PolicyReplayResponse, required: false, description: 'With `replay`.' })
  readonly replay?: PolicyReplayResponse;
}

export class AppliedPoliciesResponse {
  @ApiProperty({
    type: [PolicyChangeResponse],
    description: "In the request's order, then the policies that were pruned, by name.",
  })
  readonly changes!: readonly PolicyChangeResponse[];

  @ApiProperty({ example: SAMPLE_POLICY_SET, description: 'Identifies the set of policies now in force.' })
  readonly policySet!: string;
}
