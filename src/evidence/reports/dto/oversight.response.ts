import { ApiProperty, PickType } from '@nestjs/swagger';
import { ApiCount, ApiMember, ApiNullableText } from '../../../http/openapi/response-members';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { OrderedPeriod, QueryOneOf, QueryTimestamp } from '../../../http/validation/query-fields';
import { PolicyResponse } from '../../../governance/policies/dto/policy.dto';
import { type Bucket, BUCKETS } from '../period';

class RequestsResponse {
  @ApiProperty({ format: 'date-time', example: '2026-11-20T00:00:00.000Z' })
  readonly start!: string;

  @ApiCount('Executions that were allowed when they were requested.')
  readonly allowed!: number;

  @ApiCount('Executions that were denied.')
  readonly denied!: number;

  @ApiCount('Executions for which an approval was requested.')
  readonly approval_requested!: number;

  @ApiCount('Executions of the bucket that are executed now.')
  readonly executed!: number;

  @ApiCount('Executions of the bucket that have failed.')
  readonly failed!: number;

  @ApiCount('Executions of the bucket that were authorised only because their agent was observed.')
  readonly observed!: number;
}

class ReasonResponse {
  @ApiMember('The `reason` of the denials.', { example: 'no_policy_allows' })
  readonly reason!: string;

  @ApiCount('Denied executions.')
  readonly count!: number;
}

class AgentCountsResponse {
  @ApiProperty({ example: sampleId('agt') })
  readonly agentId!: string;

  @ApiProperty({ example: 'reminder-bot' })
  readonly name!: string;

  @ApiNullableText("The agent's current team; null if it has none.")
  readonly team!: string | null;

  @ApiCount('Executions that were allowed when they were requested.')
  readonly allowed!: number;

  @ApiCount('Executions that were denied.')
  readonly denied!: number;

  @ApiCount('Executions for which an approval was requested.')
  readonly approvals!: number;
}

class ReviewerCountsResponse {
  @ApiNullableText('Null for verdicts of key holders who named no agent.', sampleId('agt', 2))
  readonly agentId!: string | null;

  @ApiNullableText('The name of the agent.', 'change-reviewer')
  readonly name!: string | null;

  @ApiCount("The reviewer's approvals.")
  readonly approved!: number;

  @ApiCount("The reviewer's rejections.")
  readonly rejected!: number;

  @ApiCount('Verdicts of either kind at most ten seconds after the proposal.')
  readonly withinTenSeconds!: number;
}

class ApprovalCountsResponse {
  @ApiCount('All decisions proposed in the period, whatever became of them.')
  readonly proposed!: number;

  @ApiCount('How many of them are approved now.')
  readonly approved!: number;

  @ApiCount('How many are rejected.')
  readonly rejected!: number;

  @ApiCount('How many have expired.')
  readonly expired!: number;

  @ApiCount('How many were cancelled. The rest are still `proposed`.')
  readonly cancelled!: number;

  @ApiMember('Median of the seconds from proposal to approval or rejection, by nearest rank; null if there are none.', {
    type: Number,
    nullable: true,
    example: 42.5,
  })
  readonly medianSeconds!: number | null;

  @ApiMember('95th percentile of these seconds, by nearest rank; null if there are none.', {
    type: Number,
    nullable: true,
    example: 380.2,
  })
  readonly p95Seconds!: number | null;

  @ApiCount('Decisions that were approved or rejected within ten seconds.')
  readonly withinTenSeconds!: number;

  @ApiMember('Reviewers, those with the most verdicts first.', { type: [ReviewerCountsResponse] })
  readonly byReviewer!: readonly ReviewerCountsResponse[];
}

class ChangeCountsResponse {
  @ApiCount('Changes proposed in the period, with FOUR_EYES.', { example: 0 })
  readonly proposed!: number;

  @ApiCount('How many of them are approved now.', { example: 0 })
  readonly approved!: number;

  @ApiCount('How many are rejected.', { example: 0 })
  readonly rejected!: number;

  @ApiCount('How many of the proposed changes took effect.', { example: 0 })
  readonly made!: number;

  @ApiCount('Changes that took effect without approval, in an emergency in the period.', { example: 0 })
  readonly breakGlass!: number;

  @ApiCount('How many of the emergency changes have not been reviewed yet.', { example: 0 })
  readonly unreviewed!: number;
}

class CountedPolicyResponse extends PickType(PolicyResponse, ['id', 'name', 'version'] as const) {}

class PolicyCountsResponse {
  @ApiMember('The policy, in the version that decided.', { type: CountedPolicyResponse })
  readonly policy!: CountedPolicyResponse;

  @ApiCount('Executions that this version decided, alone or with others.')
  readonly decided!: number;
}

class GrantCountsResponse {
  @ApiCount('Grants made in the period.', { example: 0 })
  readonly minted!: number;

  @ApiCount('Executions of the period that a grant authorised.', { example: 0 })
  readonly used!: number;
}

class ChainResponse {
  @ApiCount('Entries of the ledger that the checkpoint covers.')
  readonly size!: number;

  @ApiMember('A signed checkpoint, issued after everything was counted.', {
    example: 'governance.example.com/log\n7\n…',
  })
  readonly checkpoint!: string;
}

export class OversightResponse {
  @ApiMember('First moment of the period.', { format: 'date-time', example: '2026-11-01T00:00:00.000Z' })
  readonly from!: string;

  @ApiMember('First moment after it.', { format: 'date-time', example: '2026-12-01T00:00:00.000Z' })
  readonly to!: string;

  @ApiMember('Executions by the bucket of their creation; the period may begin and end within one.', {
    type: [RequestsResponse],
  })
  readonly requests!: readonly RequestsResponse[];

  @ApiMember('Why executions were denied, the most frequent first.', { type: [ReasonResponse] })
  readonly reasons!: readonly ReasonResponse[];

  @ApiMember('The 100 agents with the most requests.', { type: [AgentCountsResponse] })
  readonly agents!: readonly AgentCountsResponse[];

  @ApiMember('Decisions that were proposed in the period, with or without an execution.', {
    type: ApprovalCountsResponse,
  })
  readonly approvals!: ApprovalCountsResponse;

  @ApiMember('Changes that need a second person.', { type: ChangeCountsResponse })
  readonly changes!: ChangeCountsResponse;

  @ApiMember('Policies that decided, the most frequent first.', { type: [PolicyCountsResponse] })
  readonly policies!: readonly PolicyCountsResponse[];

  @ApiMember('Policies that are in force and decided nothing, oldest first.', { type: [CountedPolicyResponse] })
  readonly unused!: readonly CountedPolicyResponse[];

  @ApiMember('Grants.', { type: GrantCountsResponse })
  readonly grants!: GrantCountsResponse;

  @ApiCount('Stops made in the period.', { example: 0 })
  readonly stops!: number;

  @ApiCount('Erasures made in the period.', { example: 0 })
  readonly erasures!: number;

  @ApiMember('A checkpoint against which the report can be checked.', { type: ChainResponse })
  readonly chain!: ChainResponse;
}

@OrderedPeriod()
export class OversightQuery {
  @QueryTimestamp({
    description:
      'First moment of the period: RFC 3339 with a zone, or a date (midnight UTC). Default: 30 days before `to`.',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'First moment after the period. Default: now.' })
  readonly to?: string;

  @QueryOneOf(BUCKETS, {
    enumName: 'ReportBucket',
    description: 'Length of the buckets, in UTC; weeks begin on Monday. At most 400 buckets. Default: `day`.',
  })
  readonly bucket?: Bucket;
}
