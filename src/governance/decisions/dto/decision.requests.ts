import { NAMED_AGENT, QueryAgent } from '../../agents/dto/agent.dto';
import { RISK_LEVELS, type RiskLevel } from '../../../core/config/variables/governance-variables';
import { sampleId } from '../../../http/openapi/documentation.decorators';
import { ConfiguredRequest, type ConfiguredRule, WholeRequest } from '../../../http/validation/dto';
import {
  EachNamedOnce,
  ExpiryField,
  Field,
  FreeFormObject,
  ListOf,
  OneOf,
  OptionalText,
  REMARK,
  RequiredText,
} from '../../../http/validation/fields';
import { QueryOneOf, QueryText } from '../../../http/validation/query-fields';
import type { JsonObject } from '../../../core/json/json-value';
import {
  areDistinctApprovers,
  filledGroups,
  type GroupInput,
  ApproversField,
} from '../../policies/approval/approval-input';
import { sumOfApprovals } from '../../policies/approval/approval-requirement';
import { SignatureField } from '../../passkeys/dto/passkey.dto';
import { decisionTypeFault } from '../decision-rules';
import { INSTEAD, OFFERED_GRANT, type OfferedGrant } from '../grants/dto/grant.dto';
import { TEAM } from '../../agents/team';
import { ListQuery } from '../../../http/lists/list.query';
import { DECISION_STATUSES, type DecisionStatus } from '../decision.entity';

/** Other rules report invalid members. */
const enoughApprovals: ConfiguredRule = ({ approvers, riskLevel }, { requiredApprovals }) => {
  const level = RISK_LEVELS.find((candidate) => candidate === riskLevel);
  if (level === undefined || !areDistinctApprovers(approvers)) return [];
  const required = requiredApprovals[level];
  if (sumOfApprovals(filledGroups(approvers)) >= required) return [];
  const message = `must ask for at least ${required} approvals together, as REQUIRED_APPROVALS says for the risk level ${level}`;
  return [{ field: 'approvers', message }];
};

@ConfiguredRequest(enoughApprovals)
export class ProposeDecisionRequest {
  @RequiredText({
    max: 100,
    description: 'Kind of decision. Without control and format characters, `;`, and white space at its ends.',
    example: 'deployment',
    rule: decisionTypeFault,
  })
  readonly type!: string;

  @RequiredText({ max: 500, example: 'Deploy release 4.2 of the payment gateway' })
  readonly title!: string;

  @RequiredText({ ...NAMED_AGENT, description: 'Id or name of the proposing agent.', example: 'reminder-bot' })
  readonly proposedBy!: string;

  @OneOf(RISK_LEVELS, {
    enumName: 'RiskLevel',
    description: 'Determines how many approvals are needed.',
    example: 'high',
  })
  readonly riskLevel!: RiskLevel;

  @OptionalText({ ...REMARK, default: '', example: 'Rolls out the new fraud checks.' })
  readonly description?: string;

  @FreeFormObject({ optional: true, default: {}, description: 'Free-form members.', example: { change: 'CHG-1042' } })
  readonly context?: JsonObject;

  @ExpiryField({
    description:
      'From this time on the decision can no longer be reviewed. It must be in the future, at most ten years ahead, ' +
      'and have a zone.',
  })
  readonly expiresAt?: string;

  @ApproversField({
    description:
      'Who has to approve: every group, each by different reviewers, together at least as many as `REQUIRED_APPROVALS` says ' +
      'for the risk level. Default: that number of any active agents.',
  })
  readonly approvers?: readonly GroupInput[];
}

/** The delegation by which the approver reviews in the place of another person. */
const DelegationField = (): PropertyDecorator =>
  OptionalText({
    max: 100,
    description: 'An active delegation to the approver, who then reviews in the place of the person who made it.',
  });

const APPROVER = {
  ...NAMED_AGENT,
  description: 'Id or name of the approving agent.',
  example: 'change-reviewer',
};

export class ApproveDecisionRequest {
  @RequiredText(APPROVER)
  readonly approverId!: string;

  @OptionalText({ ...REMARK, example: 'Checked against the change calendar.' })
  readonly comment?: string;

  @Field(OFFERED_GRANT, {
    optional: true,
    description:
      'Approves more than this action, within what `grant` of the decision allows. The grant is made if all approvals grant the same.',
    example: { for: 'PT1H' },
  })
  readonly grant?: OfferedGrant;

  @SignatureField(
    '`{actionHash, agentId, decisionId, grant?, verdict: "approve"}`, `agentId` being the reviewer and `grant` what is given, with defaults; ' +
      'of a decision that no execution waits for `{agentId, context, decisionId, description, riskLevel, title, verdict: "approve"}`, with its `change` if it has one; ' +
      'both have `delegationId` if it is given. Required to fill a signed group',
  )
  readonly signature?: JsonObject;

  @DelegationField()
  readonly delegationId?: string;
}

const MAX_DECISIONS = 50;
const ACTION_HASH = /^[0-9a-f]{64}$/;

export class SeenDecisionRequest {
  @RequiredText({ max: 100, description: 'Its id.', example: sampleId('dec') })
  readonly id!: string;

  @Field(
    { rule: actionHashFault, schema: { type: String, nullable: true } },
    {
      description: 'The hash of the action that the reviewer saw; null if the decision has none.',
      example: null,
    },
  )
  readonly actionHash!: string | null;
}

@EachNamedOnce('decisions', ({ id }) => id)
export class ApproveTogetherRequest {
  @ListOf(SeenDecisionRequest, {
    maxItems: MAX_DECISIONS,
    description: 'At least one, each once.',
    example: [{ id: sampleId('dec', 5), actionHash: null }],
  })
  readonly decisions!: SeenDecisionRequest[];

  @RequiredText(APPROVER)
  readonly approverId!: string;

  @OptionalText({ ...REMARK, example: 'The runs of this morning.' })
  readonly comment?: string;
}

function actionHashFault(value: unknown): string | undefined {
  const isValid = value === null || (typeof value === 'string' && ACTION_HASH.test(value));
  return isValid ? undefined : 'must be 64 hexadecimal digits, or null';
}

@WholeRequest(({ comment, reason }) =>
  comment === undefined || reason === undefined
    ? []
    : [{ field: 'reason', message: 'is an alias of comment; give only one of them' }],
)
export class RejectDecisionRequest {
  @OptionalText({
    ...NAMED_AGENT,
    description: 'Id or name of the rejecting agent; without it the holder of the API key rejects.',
    example: 'change-reviewer',
  })
  readonly approverId?: string;

  @OptionalText({ ...REMARK, example: 'Outside the maintenance window.' })
  readonly comment?: string;

  @OptionalText({ ...REMARK, description: 'Alias of `comment`.' })
  readonly reason?: string;

  @Field(INSTEAD, {
    optional: true,
    description:
      'Other parameters, which this reviewer would approve. If one approval is enough, they may then be executed once.',
  })
  readonly instead?: { readonly parameters: JsonObject };

  @DelegationField()
  readonly delegationId?: string;
}

export class CancelDecisionRequest {
  @OptionalText({ ...REMARK, description: 'Kept in the audit trail only.', example: 'The release was withdrawn.' })
  readonly reason?: string;
}

export class DecisionListQuery extends ListQuery {
  @QueryOneOf(DECISION_STATUSES, { enumName: 'DecisionStatus', description: 'Only decisions with this status.' })
  readonly status?: DecisionStatus;

  @QueryOneOf(RISK_LEVELS, { enumName: 'RiskLevel', description: 'Only decisions with this risk level.' })
  readonly riskLevel?: RiskLevel;

  @QueryText({ max: 100, description: 'Only decisions of this type.' })
  readonly type?: string;

  @QueryAgent('Only decisions proposed by the agent with this id or name.')
  readonly proposedBy?: string;

  @QueryText({ max: 100, description: 'Only the decision of the execution with this id.' })
  readonly executionId?: string;

  @QueryText({ max: 100, description: 'Only decisions of this W3C trace.' })
  readonly traceId?: string;

  @QueryText({ max: 200, description: 'Only decisions of executions in this run.' })
  readonly run?: string;

  @QueryAgent('Only the proposed decisions that the agent with this id or name could approve now.')
  readonly awaiting?: string;

  @QueryText({ max: TEAM.max, description: 'Only decisions proposed by agents that are in this team now.' })
  readonly team?: string;
}
