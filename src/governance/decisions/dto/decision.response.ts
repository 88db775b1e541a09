import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import {
  ApiCount,
  ApiMember,
  ApiNullableText,
  type ResponseMapper,
  responseMapper,
} from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { OnBehalfOfResponse } from '../../executions/dto/execution.dto';
import { givenApprovals } from '../decision-rules';
import { GrantAllowanceResponse } from '../../policies/approval/approval-input';
import { Decision, type DecisionApproversResponse, ReviewResponse } from '../decision.entity';
import { AGENT_KINDS, type AgentKind } from '../../agents/agent-name';

/** Shown in another order. */
const REORDERED = ['traceId', 'onBehalfOf', 'run', 'grant', 'erased'] as const;

/** Reviews and approvers keep their place, and are shown with more than is stored. */
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

  static from(this: void, { erased, onBehalfOf, run, grant, ...row }: Decision): DecisionResponse {
    const given = givenApprovals(row);
    return shownDecision({
      ...row,
      reviews: row.reviews.map(ReviewResponse.from),
      approvers: row.approvers?.map((group, index) => ({ ...group, given: given[index] ?? 0 })) ?? null,
      ...(row.executionId !== null && { onBehalfOf, run, grant }),
      ...(erased && { erased: true as const }),
    });
  }
}

const shownDecision: ResponseMapper<DecisionResponse> = responseMapper(DecisionResponse);

export class ApprovedTogetherResponse {
  @ApiMember('In the order of the request.', { type: [DecisionResponse] })
  readonly data!: readonly DecisionResponse[];

  @ApiProperty({ type: 'integer', minimum: 1, example: 1 })
  readonly total!: number;
}

/** Why an agent could not approve a decision, in order of precedence. */
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
    'The first that applies: it proposed the decision; it, or the proposer, is suspended; it has reviewed the decision; each of ' +
      'its groups is signed, and it has no passkey; a policy denies it `decision:approve`. Null when none does.',
    { type: 'string', enum: [...INABILITIES, null], nullable: true, example: null },
  )
  readonly why!: Inability | null;
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
