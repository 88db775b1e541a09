import { ApiProperty, OmitType, PickType } from '@nestjs/swagger';
import {
  ApiCount,
  ApiMember,
  ApiNullableText,
  ApiNullableTime,
  type ResponseMapper,
  responseMapper,
} from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { Grant } from '../../decisions/grants/grant.entity';
import { PlannedEffectResponse, PlannedVerdictResponse } from '../../policy-plans/dto/policy-plan.response';
import { ApproverGroupResponse } from '../../policies/approval/approval-input';
import { Policy } from '../../policies/policy.entity';
import type { PolicyRules } from '../../policies/evaluation/compiled-policy';
import { StopResponse } from '../../stops/dto/stop.dto';

const EXAMPLE_RULES = '7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a';

/** A policy that decides in a region, with what it depends on. */
export class AccessPolicyResponse extends PickType(Policy, ['id', 'name', 'version', 'conditions', 'limits'] as const) {
  @ApiMember('On whose behalf it matches; null: on anybody’s, or nobody’s.', {
    type: [String],
    nullable: true,
    example: null,
  })
  readonly onBehalfOf!: readonly string[] | null;

  @ApiMember('Whose approval it requires; empty for an allow.', { type: [ApproverGroupResponse], example: [] })
  readonly approvers!: readonly ApproverGroupResponse[];

  static from(this: void, policy: PolicyRules): AccessPolicyResponse {
    const { id, name, version, conditions, limits, onBehalfOf, approval } = policy;
    return {
      ...{ id, name, version, conditions, limits },
      onBehalfOf: onBehalfOf.length === 0 ? null : onBehalfOf,
      approvers: approval?.approvers ?? [],
    };
  }
}

class AccessReasonsResponse {
  @ApiMember(
    'The policies that decide some request of the region, ten at most, oldest first; null: the default effect.',
    {
      type: [AccessPolicyResponse],
      nullable: true,
    },
  )
  readonly to!: readonly AccessPolicyResponse[] | null;
}

export class AccessRegionResponse extends PickType(PlannedEffectResponse, [
  'actions',
  'resourceTypes',
  'resources',
  'when',
] as const) {
  @ApiMember('`allow` or `require_approval`.', { type: PlannedVerdictResponse })
  readonly to!: PlannedVerdictResponse;

  @ApiProperty({ type: AccessReasonsResponse })
  readonly because!: AccessReasonsResponse;
}

export class AccessChangeResponse extends OmitType(PlannedEffectResponse, ['subjects'] as const) {}

export class AccessGrantResponse extends OmitType(Grant, ['createdSequence', 'status'] as const) {
  static readonly from: ResponseMapper<AccessGrantResponse> = responseMapper(AccessGrantResponse);
}

export class AccessResponse {
  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiCount('The revision of the agent.', { minimum: 1 })
  readonly revision!: number;

  @ApiMember('Identifies the policies in force, their contents, and the default effect.', { example: EXAMPLE_RULES })
  readonly rules!: string;

  @ApiMember('Whether everything is listed; what is listed is true in any case.', { example: true })
  readonly complete!: boolean;

  @ApiMember('Why it is not complete, or why nothing is allowed; absent if there is no reason.', {
    required: false,
    example: 'The agent is suspended.',
  })
  readonly reason?: string;

  @ApiMember('What it may do by itself, in regions that do not overlap; those of `withApproval` neither.', {
    type: [AccessRegionResponse],
  })
  readonly allowed!: readonly AccessRegionResponse[];

  @ApiMember('What it may do once somebody approves it.', { type: [AccessRegionResponse] })
  readonly withApproval!: readonly AccessRegionResponse[];

  @ApiMember('The active stops that can cover it: while they are active, it may not do what they cover.', {
    type: [StopResponse],
    example: [],
  })
  readonly stops!: readonly StopResponse[];

  @ApiMember('Its active grants, the oldest 1,000: what it may repeat without another approval.', {
    type: [AccessGrantResponse],
    maxItems: 1_000,
    example: [],
  })
  readonly grants!: readonly AccessGrantResponse[];

  @ApiNullableTime('Until then, what no policy allows is let through, and noted.')
  readonly observeUntil!: string | null;

  @ApiNullableText('The person who reviewed its access last; null: nobody has.', sampleId('agt', 2))
  readonly reviewedBy!: string | null;

  @ApiNullableTime('When that was.')
  readonly reviewedAt!: string | null;

  @ApiMember('With `since`: what it may do now and could not do then, or the other way round.', {
    type: [AccessChangeResponse],
    required: false,
  })
  readonly changes?: readonly AccessChangeResponse[];
}

export class AccessReviewResponse extends PickType(AccessResponse, ['agentId', 'revision', 'rules'] as const) {
  @ApiProperty({ example: sampleId('agt', 2) })
  readonly reviewedBy!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly reviewedAt!: string;
}

class UnreviewedAgentResponse extends PickType(AccessResponse, [
  'agentId',
  'revision',
  'reviewedBy',
  'reviewedAt',
] as const) {
  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;
}

export class UnreviewedAgentsResponse {
  @ApiMember('The newest agents, 100 at most.', { type: [UnreviewedAgentResponse], maxItems: 100 })
  readonly data!: readonly UnreviewedAgentResponse[];

  @ApiMember('Whether there are more.', { example: false })
  readonly more!: boolean;
}
