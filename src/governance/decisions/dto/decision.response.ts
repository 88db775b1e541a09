import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import {
  ApiCount,
  ApiMember,
  ApiNullableText,
  type ResponseMapper,
  responseMapper,
} from '../../../http/openapi/response-members';
import { ActorResponse } from '../../../http/authentication/actor.response';
import { SAMPLE_POLICY_SET, sampleId } from '../../../http/openapi/documentation.decorators';
import type { JsonObject } from '../../../core/json/json-value';
import { OnBehalfOfResponse } from '../../executions/dto/execution.dto';
import { givenApprovals } from '../decision-rules';
import { GrantAllowanceResponse } from '../../policies/approval/approval-input';
import { Decision, type DecisionApproversResponse, ReviewResponse } from '../decision.entity';
import { AGENT_KINDS, type AgentKind } from '../../agents/agent-name';

class ChangeResponse {
  @ApiProperty({ example: 'POST' })
  readonly method!: string;

  @ApiProperty({ example: '/api/v1/policies' })
  readonly path!: string;

  @ApiMember('Hex SHA-256 of the RFC 8785 form of the body; of `{}` without one.', { example: SAMPLE_POLICY_SET })
  readonly bodyHash!: string;

  @ApiMember('What it does, in a sentence.', { example: 'Create the policy "refunds" (version 2).' })
  readonly summary!: string;

  @ApiPropertyOptional({
    example: SAMPLE_POLICY_SET,
    description: 'For policies, the `rules` in force when it was proposed.',
  })
  readonly rules?: string;

  @ApiPropertyOptional({
    format: 'date-time',
    example: '2026-11-20T06:30:00.000Z',
    description: 'When it was made; absent until then.',
  })
  readonly madeAt?: string;
}

/** Members that are shown in another order. */
const REORDERED = ['traceId', 'onBehalfOf', 'run', 'grant', 'change', 'actor', 'erased'] as const;

/** Members that keep their place, and are shown with more than is stored. */
type Retyped = 'reviews' | 'approvers';

export class DecisionResponse extends OmitType<Decision, 'createdSequence' | Retyped | (typeof REORDERED)[number]>(
  Decision,
  ['createdSequence', ...REORDERED],
) {
  readonly reviews!: readonly ReviewResponse[];

  readonly approvers!: readonly DecisionApproversResponse[] | null;

  @ApiNullableText('The W3C trace of the request that made it: from its `traceparent` header. Null without one.')
  readonly traceId!: string | null;

  @ApiPropertyOptional({
    type: OnBehalfOfResponse,
    nullable: true,
    description:
      'On whose behalf the agent acts. Null: on nobody’s in particular. Absent if no execution waits for it.',
  })
  readonly onBehalfOf?: OnBehalfOfResponse | null;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: null,
    description: 'The run that the execution is part of. Absent if no execution waits for it.',
  })
  readonly run?: string | null;

  @ApiPropertyOptional({
    type: GrantAllowanceResponse,
    nullable: true,
    description:
      'The most that its approvers may grant besides this action. Null: nothing. Absent if no execution waits for it.',
  })
  readonly grant?: GrantAllowanceResponse | null;

  @ApiPropertyOptional({ example: true, description: 'True once its contents were erased; absent until then.' })
  readonly erased?: true;

  @ApiPropertyOptional({
    type: ChangeResponse,
    description: 'The change that it is about. Absent if it is about none.',
  })
  readonly change?: ChangeResponse;

  @ApiPropertyOptional({ type: ActorResponse, description: 'Who proposed the change, and may cancel it.' })
  readonly actor?: ActorResponse;

  @ApiPropertyOptional({
    type: [String],
    example: [sampleId('agt', 2)],
    description:
      'In a list by `awaiting`: the people in whose place alone the agent could approve it now, by delegations. Absent if it ' +
      'could in its own place, and elsewhere.',
  })
  readonly inPlaceOf?: readonly string[];

  static from(
    this: void,
    { erased, onBehalfOf, run, grant, change, actor, inPlaceOf, ...row }: ListedDecision,
  ): DecisionResponse {
    const counts = givenApprovals({ ...row, change });
    return shownDecision({
      ...row,
      reviews: row.reviews.map(ReviewResponse.from),
      approvers: row.approvers?.map((group, index) => ({ ...group, given: counts[index] ?? 0 })) ?? null,
      ...(row.executionId !== null && { onBehalfOf, run, grant }),
      ...(change !== null && { change }),
      ...(actor !== null && { actor }),
      ...(erased && { erased: true as const }),
      ...(inPlaceOf !== undefined && { inPlaceOf }),
    });
  }
}

/** A decision, and what a list by `awaiting` adds to it. */
type ListedDecision = Decision & Pick<DecisionResponse, 'inPlaceOf'>;

const shownDecision: ResponseMapper<DecisionResponse> = responseMapper(DecisionResponse);

/** A change with its body. */
export class HeldChangeResponse extends OmitType(ChangeResponse, ['rules', 'madeAt'] as const) {
  @ApiProperty({ type: 'object', additionalProperties: true, example: { name: 'refunds', version: '2' } })
  readonly body!: JsonObject;
}

export class ApprovedTogetherResponse {
  @ApiMember('In the order of the request.', { type: [DecisionResponse] })
  readonly data!: readonly DecisionResponse[];

  @ApiProperty({ type: 'integer', minimum: 1, example: 1 })
  readonly total!: number;
}

/** Reasons for which an agent could not approve a decision, in order of precedence. */
const INABILITIES = ['proposer', 'suspended', 'reviewed', 'no_passkey', 'policy_denied'] as const;
export type Inability = (typeof INABILITIES)[number];

export class ApproverResponse {
  @ApiProperty({ example: sampleId('agt', 2) })
  readonly agentId!: string;

  @ApiProperty({ example: 'change-reviewer' })
  readonly name!: string;

  @ApiProperty({ enum: AGENT_KINDS, enumName: 'AgentKind', example: 'human' })
  readonly kind!: AgentKind;

  @ApiMember(
    "Indexes of the groups of the decision's `approvers` that the agent can approve for; none without `approvers`.",
    { type: [Number], example: [0] },
  )
  readonly groups!: readonly number[];

  @ApiMember('Whether the agent could approve the decision now.', { example: true })
  readonly able!: boolean;

  @ApiMember(
    'The first that applies: it proposed the decision; it, or the proposer, is suspended; it has reviewed the decision, or ' +
      'somebody has in that place; each of its groups is signed, and it has no passkey; a policy denies it `decision:approve`. Null when none does.',
    { type: 'string', enum: [...INABILITIES, null], nullable: true, example: null },
  )
  readonly why!: Inability | null;

  @ApiPropertyOptional({
    example: sampleId('agt', 2),
    description: 'The person in whose place the agent may review, by a delegation; absent if the place is its own.',
  })
  readonly for?: string;

  @ApiPropertyOptional({ example: sampleId('dlg'), description: 'The delegation; absent if the place is its own.' })
  readonly delegationId?: string;
}

export class ApproverListResponse {
  @ApiProperty({ type: [ApproverResponse] })
  readonly data!: readonly ApproverResponse[];

  @ApiCount('Number of rows of the whole list, not only of this page.')
  readonly total!: number;

  @ApiMember(
    'Whether the decision can still be approved, given its approvals and the agents that can approve it. Null if the first 10,000 ' +
      'are not enough and there are more.',
    { type: Boolean, nullable: true, example: true },
  )
  readonly feasible!: boolean | null;
}
