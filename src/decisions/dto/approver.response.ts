import { ApiProperty } from '@nestjs/swagger';
import { AGENT_KINDS, type AgentKind } from '../../agents/agent-kind';
import { sampleId } from '../../openapi/sample-id';
import { INABILITIES, type Inability } from '../approvers/approver-ability';
import type { DecisionApprover, DecisionApprovers } from '../approvers/decision-approvers.service';

export class ApproverResponse {
  @ApiProperty({ example: sampleId('agt', 2) })
  readonly agentId!: string;

  @ApiProperty({ example: 'change-reviewer' })
  readonly name!: string;

  @ApiProperty({ enum: AGENT_KINDS, enumName: 'AgentKind', example: 'human' })
  readonly kind!: AgentKind;

  @ApiProperty({
    type: [Number],
    example: [0],
    description:
      "Indexes of the groups of the decision's `approvers` that the agent can approve for; none without `approvers`.",
  })
  readonly groups!: readonly number[];

  @ApiProperty({ example: true, description: 'Whether the agent could approve the decision now.' })
  readonly able!: boolean;

  @ApiProperty({
    type: 'string',
    enum: [...INABILITIES, null],
    nullable: true,
    example: null,
    description:
      'The first that applies: it proposed the decision; it, or the proposer, is suspended; it has reviewed the decision; a ' +
      'policy denies it `decision:approve`. Null when none does.',
  })
  readonly why!: Inability | null;

  static from(this: void, { agent, groups, able, why }: DecisionApprover): ApproverResponse {
    const { id: agentId, name, kind } = agent;
    return { agentId, name, kind, groups, able, why };
  }
}

export class ApproverListResponse {
  @ApiProperty({ type: [ApproverResponse] })
  readonly data!: readonly ApproverResponse[];

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    example: 1,
    description: 'Number of rows of the whole list, not only of this page.',
  })
  readonly total!: number;

  @ApiProperty({
    type: Boolean,
    nullable: true,
    example: true,
    description:
      'Whether the decision can still be approved, given its approvals and the agents that can approve it. Null if the first 10,000 ' +
      'are not enough and there are more.',
  })
  readonly feasible!: boolean | null;

  static from(this: void, { approvers, total, feasible }: DecisionApprovers): ApproverListResponse {
    return { data: approvers.map(ApproverResponse.from), total, feasible };
  }
}
