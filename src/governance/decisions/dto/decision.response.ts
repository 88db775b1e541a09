import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { RISK_LEVELS, type RiskLevel } from '../../../core/config/variables/governance-variables';
import { ApiCount, ApiMember, ApiNullableText, type ShownAs, shownAs } from '../../../http/openapi/answer-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { OnBehalfOfResponse } from '../../executions/dto/execution.dto';
import type { JsonObject } from '../../../core/json/json-value';
import { givenApprovals } from '../decision-rules';
import { GrantAllowanceResponse } from '../../policies/approval/given-approval';
import {
  DECISION_STATUSES,
  VERDICTS,
  type Decision,
  type DecisionStatus,
  type Review,
  type Verdict,
} from '../decision.entity';
import { AGENT_KINDS, type AgentKind } from '../../agents/agent-name';

/** A grant as a reviewer gave it. */
export class GivenGrantResponse {
  @ApiMember('An ISO 8601 duration.', { example: 'PT1H' })
  readonly for!: string;

  @ApiMember('Null: as many as are allowed.', { type: 'integer', nullable: true, example: 10 })
  readonly uses!: number | null;

  @ApiMember('Null: exactly the resource asked for.', { type: [String], nullable: true, example: null })
  readonly resources!: readonly string[] | null;

  @ApiProperty({ enum: ['same', 'any'], enumName: 'GrantParameters', example: 'same' })
  readonly parameters!: 'same' | 'any';
}

/** What a device signed: bytes are base64url. */
export class SignatureResponse {
  @ApiProperty({ example: sampleId('psk') })
  readonly passkeyId!: string;

  @ApiProperty({ example: 'SZYN' })
  readonly authenticatorData!: string;

  @ApiProperty({ example: 'eyJ0' })
  readonly clientDataJSON!: string;

  @ApiProperty({ example: 'MEUC' })
  readonly signature!: string;
}

export class ReviewResponse {
  @ApiNullableText('Null when the holder of the API key rejected.', sampleId('agt', 2))
  readonly approverId!: string | null;

  @ApiProperty({ enum: VERDICTS, enumName: 'ReviewVerdict', example: 'approve' })
  readonly verdict!: Verdict;

  @ApiProperty({ type: String, nullable: true, example: 'Checked against the change calendar.' })
  readonly comment!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:21:40.002Z' })
  readonly createdAt!: string;

  @ApiMember(
    'Indexes of the groups of `approvers` that the reviewer could approve for, signed ones only with a signature; null without ' +
      '`approvers`.',
    { type: [Number], nullable: true, example: null },
  )
  readonly groups!: readonly number[] | null;

  @ApiPropertyOptional({
    type: GivenGrantResponse,
    description: 'What the reviewer granted besides this action; absent if nothing.',
  })
  readonly grant?: GivenGrantResponse;

  @ApiPropertyOptional({
    type: SignatureResponse,
    description: 'The signature that a passkey of the reviewer made for exactly this approval; absent without one.',
  })
  readonly signature?: SignatureResponse;

  static from(this: void, review: Review): ReviewResponse {
    return shownReview({ groups: null, ...review });
  }
}

const shownReview: ShownAs<ReviewResponse> = shownAs(ReviewResponse);

export class DecisionApproversResponse {
  @ApiProperty({ type: [String], example: ['role:finance'] })
  readonly subjects!: readonly string[];

  @ApiMember('By different reviewers.', { type: 'integer', minimum: 1, maximum: 100, example: 1 })
  readonly approvals!: number;

  @ApiCount('Approvals so far that may count for the group.', { example: 0 })
  readonly given!: number;

  @ApiPropertyOptional({ example: true, description: 'Only reviews signed with a passkey count; absent: any review.' })
  readonly signed?: true;
}

export class DecisionResponse {
  @ApiProperty({ example: sampleId('dec') })
  readonly id!: string;

  @ApiProperty({ example: 'deployment' })
  readonly type!: string;

  @ApiProperty({ example: 'Deploy release 4.2 of the payment gateway' })
  readonly title!: string;

  @ApiProperty({ example: 'Rolls out the new fraud checks.' })
  readonly description!: string;

  @ApiProperty({ type: 'object', additionalProperties: true, example: { change: 'CHG-1042' } })
  readonly context!: JsonObject;

  @ApiProperty({ example: sampleId('agt') })
  readonly proposedBy!: string;

  @ApiProperty({ enum: RISK_LEVELS, enumName: 'RiskLevel', example: 'high' })
  readonly riskLevel!: RiskLevel;

  @ApiProperty({ enum: DECISION_STATUSES, enumName: 'DecisionStatus', example: 'proposed' })
  readonly status!: DecisionStatus;

  @ApiCount('Fixed when the decision was proposed.', { minimum: 1 })
  readonly requiredApprovals!: number;

  @ApiProperty({ type: [ReviewResponse] })
  readonly reviews!: readonly ReviewResponse[];

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly expiresAt!: string | null;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly createdAt!: string;

  @ApiProperty({ format: 'date-time', example: '2026-11-20T06:18:03.123Z' })
  readonly updatedAt!: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly resolvedAt!: string | null;

  @ApiNullableText('The execution that waits for it.')
  readonly executionId!: string | null;

  @ApiNullableText('Hex SHA-256 of what the execution requests, as in the execution.')
  readonly actionHash!: string | null;

  @ApiMember(
    'Who has to approve: every group, each by different reviewers. Null: any active agent, `requiredApprovals` of them.',
    { type: [DecisionApproversResponse], nullable: true, example: null },
  )
  readonly approvers!: readonly DecisionApproversResponse[] | null;

  @ApiNullableText('How long the execution may be started once it is approved: an ISO 8601 duration.')
  readonly executeWithin!: string | null;

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

const shownDecision: ShownAs<DecisionResponse> = shownAs(DecisionResponse);

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
