import { ApiProperty, PickType } from '@nestjs/swagger';
import { ApiChoice, ApiMember, ApiNullableChoice, ApiNullableText } from '../../../http/openapi/response-members';
import { ANSWER_REASONS, type PermissionReason } from '../../permissions/permissions';
import { POLICY_EFFECTS, type PolicyEffect } from '../../policies/evaluation/evaluation';
import { MAX_NEAREST, POLICY_PARTS, type PolicyPart } from '../../policies/evaluation/explanation';
import { sampleId, SAMPLE_POLICY_SET } from '../../../http/openapi/documentation.decorators';
import { EXECUTION_OUTCOMES, type ExecutionOutcome } from '../../executions/execution.entity';
import { ApproverGroupResponse } from '../../policies/approval/approval-input';
import { Policy } from '../../policies/policy.entity';
import { AGENT_CHANGES, type DeclaredAgentChange } from '../../agents/declared-agents';
import type { PolicyChange } from '../../policies/policy-changes';
import { policyDifferences } from '../../policies/policy-differences';
import { ANY_JSON_SCHEMA, type JsonValue } from '../../../core/json/json-value';

/** A policy that decides a test. */
export class TestedPolicyResponse {
  @ApiNullableText('Null for a policy to be created.', sampleId('pol'))
  readonly id!: string | null;

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.0' })
  readonly version!: string;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'deny' })
  readonly effect!: PolicyEffect;
}

/** A policy that would improve the answer to a test if one part of it were different. */
class NearTestedPolicyResponse {
  @ApiProperty({ type: TestedPolicyResponse })
  readonly policy!: TestedPolicyResponse;

  @ApiProperty({ enum: POLICY_PARTS, enumName: 'PolicyPart', isArray: true, example: ['conditions'] })
  readonly missing!: readonly PolicyPart[];
}

/** A test with another answer than expected. */
export class FailedPolicyTestResponse {
  @ApiMember('Its place in `tests`, from 0.', { type: 'integer', example: 0 })
  readonly index!: number;

  @ApiProperty({ enum: POLICY_EFFECTS, enumName: 'PolicyEffect', example: 'allow' })
  readonly expect!: PolicyEffect;

  @ApiChoice(
    ['PolicyEffect', POLICY_EFFECTS],
    'deny',
    'The actual answer; equal to the expected one if only `by` is not among the policies that decide.',
  )
  readonly effect!: PolicyEffect;

  @ApiNullableChoice(ANSWER_REASONS, 'Null if it is allowed.', 'policy_denied')
  readonly reason!: PermissionReason | null;

  @ApiMember('The first ten that decide, oldest first.', { type: [TestedPolicyResponse], maxItems: 10 })
  readonly policies!: readonly TestedPolicyResponse[];

  @ApiMember(
    'If a more permissive answer was expected: as `nearest` of evaluate. Only for the first 50 tests that failed; ' +
      'absent if there are none.',
    { type: [NearTestedPolicyResponse], required: false, maxItems: MAX_NEAREST },
  )
  readonly nearest?: readonly NearTestedPolicyResponse[];
}

export class PolicyTestsResponse {
  @ApiMember('How many got the expected answer.', { type: 'integer', example: 1 })
  readonly passed!: number;

  @ApiProperty({ type: [FailedPolicyTestResponse], example: [] })
  readonly failed!: readonly FailedPolicyTestResponse[];
}

const VERDICTS = ['allow', 'deny', 'require_approval', 'no_policy'] as const;
const CHANGES = ['create', 'activate', 'deactivate', 'keep'] as const;

class PolicyDifferenceResponse {
  @ApiMember('A JSON Pointer (RFC 6901) into the policy.', { example: '/limits/0/max' })
  readonly at!: string;

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 100, description: 'Null where it is absent.' })
  readonly from!: JsonValue;

  @ApiProperty({ ...ANY_JSON_SCHEMA, example: 1000, description: 'Null where it is absent.' })
  readonly to!: JsonValue;
}

class ReplacedPolicyResponse extends PickType(Policy, ['id', 'version'] as const) {}

export class PolicyChangeResponse {
  @ApiProperty({ enum: CHANGES, enumName: 'PolicyChange', example: 'create' })
  readonly change!: (typeof CHANGES)[number];

  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.1' })
  readonly version!: string;

  @ApiNullableText('Null in a plan for a policy to be created; after apply its new id.')
  readonly id!: string | null;

  @ApiMember('The version in force that is replaced.', { type: ReplacedPolicyResponse, nullable: true })
  readonly replaces!: ReplacedPolicyResponse | null;

  @ApiMember('What differs from the version that is replaced; empty if none is.', {
    type: [PolicyDifferenceResponse],
    maxItems: 100,
  })
  readonly differences!: readonly PolicyDifferenceResponse[];

  /** @param id id of a policy that the change has created */
  static from(this: void, { change, policy, replaced }: PolicyChange, id: string | null = null): PolicyChangeResponse {
    const { name, version } = policy;
    const replaces = replaced === null ? null : { id: replaced.id, version: replaced.version };
    const differences = replaced === null ? [] : policyDifferences(replaced, policy);
    return { change, name, version, id: 'id' in policy ? policy.id : id, replaces, differences };
  }
}

export class PatternSetResponse {
  @ApiMember('One of them matches.', { type: [String], example: ['*'] })
  readonly in!: readonly string[];

  @ApiMember('None of them matches.', { type: [String], example: [] })
  readonly except!: readonly string[];
}

export class PlannedVerdictResponse {
  @ApiProperty({ enum: VERDICTS, enumName: 'PlannedEffect', example: 'no_policy' })
  readonly effect!: (typeof VERDICTS)[number];

  @ApiMember('With `require_approval` only.', { type: [ApproverGroupResponse], required: false })
  readonly approvers?: readonly ApproverGroupResponse[];
}

export class PolicyVersionResponse {
  @ApiProperty({ example: 'collections-may-remind' })
  readonly name!: string;

  @ApiProperty({ example: '1.1' })
  readonly version!: string;
}

export class PlannedReferenceResponse extends PolicyVersionResponse {
  @ApiNullableText('Null for a policy to be created.')
  readonly id!: string | null;
}

class EffectConditionsResponse {
  @ApiMember('Policies whose conditions let them match.', { type: [PolicyVersionResponse] })
  readonly hold!: readonly PolicyVersionResponse[];

  @ApiMember('Policies whose conditions keep them from matching.', { type: [PolicyVersionResponse] })
  readonly fail!: readonly PolicyVersionResponse[];
}

class EffectReasonsResponse {
  @ApiMember('Ten at most, oldest first.', { type: [PlannedReferenceResponse] })
  readonly from!: readonly PlannedReferenceResponse[];

  @ApiMember('Ten at most, oldest first.', { type: [PlannedReferenceResponse] })
  readonly to!: readonly PlannedReferenceResponse[];
}

export class PlannedEffectResponse {
  @ApiProperty({ type: PlannedVerdictResponse })
  readonly from!: PlannedVerdictResponse;

  @ApiProperty({ type: PlannedVerdictResponse })
  readonly to!: PlannedVerdictResponse;

  @ApiMember(
    "Agents' ids; `other:machine` and `other:human`: an agent that is not registered, is of that kind, and has no roles; " +
      '`other:role:<role>` and `other:agent:<name>`: a machine with that one role, or that name, which policies list and no agent has.',
    { type: [String], example: [sampleId('agt'), 'other:machine'] },
  )
  readonly subjects!: readonly string[];

  @ApiProperty({ type: PatternSetResponse })
  readonly actions!: PatternSetResponse;

  @ApiMember('Exact names, or `*`.', { type: PatternSetResponse })
  readonly resourceTypes!: PatternSetResponse;

  @ApiMember(
    'Compared with `resourceId` alone, never with the type before it. `+`: every id without `/` (the id `+` itself is `/+`); `://`: every URL. ' +
      'A percent-encoded one covers every spelling except the plain one.',
    { type: PatternSetResponse },
  )
  readonly resources!: PatternSetResponse;

  @ApiProperty({ type: EffectConditionsResponse })
  readonly when!: EffectConditionsResponse;

  @ApiMember('Policies that decide some request of the region.', { type: EffectReasonsResponse })
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

  @ApiChoice(['ExecutionOutcome', EXECUTION_OUTCOMES], 'authorized', 'An outcome; `recorded`: that of the first entry.')
  readonly recorded!: ExecutionOutcome;

  @ApiChoice(['PolicyEffect', POLICY_EFFECTS], 'allow', 'With the set in force.')
  readonly was!: PolicyEffect;

  @ApiChoice(['PolicyEffect', POLICY_EFFECTS], 'deny', 'With the planned set.')
  readonly now!: PolicyEffect;

  @ApiMember('The policies that decide.', { type: EffectReasonsResponse })
  readonly because!: EffectReasonsResponse;
}

/** Decisions of a planned set about recorded executions. */
export class PolicyReplayResponse {
  @ApiMember('Number of recorded executions in the period.', { type: 'integer', example: 1200 })
  readonly executions!: number;

  @ApiMember('How many of them would get a different answer.', { type: 'integer', example: 1 })
  readonly changed!: number;

  @ApiMember(
    'How many of them could not be evaluated again, because their contents were erased or their lists are too long.',
    {
      type: 'integer',
      example: 0,
    },
  )
  readonly skipped!: number;

  @ApiMember('Whether `REPLAY_LIMIT` or 30 seconds ended it early.', { example: false })
  readonly cut!: boolean;

  @ApiMember('The newest that would get a different answer.', { type: [ReplayedExecutionResponse], maxItems: 100 })
  readonly examples!: readonly ReplayedExecutionResponse[];
}

export class PolicyPlanResponse {
  @ApiMember('Identifies the set of policies now in force; `POST /policies/apply` expects it.', {
    example: SAMPLE_POLICY_SET,
  })
  readonly base!: string;

  @ApiMember("In the request's order, then the policies that are pruned, by name.", { type: [PolicyChangeResponse] })
  readonly changes!: readonly PolicyChangeResponse[];

  @ApiMember(
    'Which requests would get a different answer. A request lies in a region if it matches all of its parts; regions do not overlap.',
    { type: [PlannedEffectResponse] },
  )
  readonly effects!: readonly PlannedEffectResponse[];

  @ApiMember('Whether all effects are listed; those that are listed are true in any case.', { example: true })
  readonly complete!: boolean;

  @ApiNullableText('Why they are not complete; null if they are.')
  readonly reason!: string | null;

  @ApiMember(
    'Policies of the set that never decide, since another one takes precedence and matches everything they match.',
    { type: [ShadowedPolicyResponse] },
  )
  readonly shadowed!: readonly ShadowedPolicyResponse[];

  @ApiMember(
    'Of the policies that would come into force: parts that match nothing, or more than they seem to; roles and ' +
      'names that no agent has, and actions that no agent is capable of and no other policy names. The first 1,000; ' +
      'if there are more, a last one says so.',
    { type: [String], example: [] },
  )
  readonly warnings!: readonly string[];

  @ApiMember('With `tests`.', { type: PolicyTestsResponse, required: false })
  readonly tests?: PolicyTestsResponse;

  @ApiMember('With `replay`.', { type: PolicyReplayResponse, required: false })
  readonly replay?: PolicyReplayResponse;
}

export class AppliedAgentResponse {
  @ApiProperty({ enum: AGENT_CHANGES, enumName: 'AgentChange', example: 'create' })
  readonly change!: DeclaredAgentChange['change'];

  @ApiProperty({ example: sampleId('agt') })
  readonly id!: string;

  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;

  @ApiMember('The revision of the agent now.', { type: 'integer', example: 1 })
  readonly revision!: number;

  static from(this: void, { change, agent: { id, name, revision } }: DeclaredAgentChange): AppliedAgentResponse {
    return { change, id, name, revision };
  }
}

export class AppliedPoliciesResponse {
  @ApiMember("In the request's order, then the policies that were pruned, by name.", { type: [PolicyChangeResponse] })
  readonly changes!: readonly PolicyChangeResponse[];

  @ApiMember('Identifies the set of policies now in force.', { example: SAMPLE_POLICY_SET })
  readonly policySet!: string;

  @ApiMember(
    'Of the policies that came into force, as those of a plan, but for roles, names and actions that nothing has. The ' +
      'first 1,000; if there are more, a last one says so.',
    { type: [String], example: [] },
  )
  readonly warnings!: readonly string[];

  @ApiMember('What became of `agents`, in their order; present if they were given.', {
    type: [AppliedAgentResponse],
    required: false,
  })
  readonly agents?: readonly AppliedAgentResponse[];
}
