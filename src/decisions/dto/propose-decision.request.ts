import { normaliseAgentName } from '../../agents/agent-name';
import { RISK_LEVELS, type RiskLevel } from '../../config/configuration';
import { sampleId } from '../../openapi/sample-id';
import { ConfiguredRequest, type ConfiguredRule } from '../../http/validation/dto-shape';
import { FreeFormObject } from '../../http/validation/body-fields';
import { ExpiryField } from '../../http/validation/expiry-field';
import { OneOf, OptionalText, RequiredText } from '../../http/validation/text-fields';
import type { JsonObject } from '../../json/json-value';
import { areDistinctApprovers, filledGroups, type GivenGroup } from '../../policies/approval/given-approval';
import { sumOfApprovals } from '../../policies/approval/reviewer-groups';
import { ApproversField } from '../../policies/dto/approvers-field.decorator';
import { decisionTypeFault } from '../decision-rules';

/** Members that are not valid are reported by their own rules. */
const enoughApprovals: ConfiguredRule = ({ approvers, riskLevel }, { requiredApprovals }) => {
  const level = RISK_LEVELS.find((known) => known === riskLevel);
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

  @RequiredText({
    max: 200,
    description: 'Id or name of the proposing agent.',
    example: sampleId('agt'),
    normalise: normaliseAgentName,
  })
  readonly proposedBy!: string;

  @OneOf(RISK_LEVELS, {
    enumName: 'RiskLevel',
    description: 'Determines how many approvals are needed.',
    example: 'high',
  })
  readonly riskLevel!: RiskLevel;

  @OptionalText({ max: 2000, mayBeBlank: true, default: '', example: 'Rolls out the new fraud checks.' })
  readonly description?: string;

  @FreeFormObject({ optional: true, default: {}, description: 'Free-form members.', example: { change: 'CHG-1042' } })
  readonly context?: JsonObject;

  @ExpiryField({
    description:
      'From this time on the decision can no longer be reviewed. In the future, by at most ten years; with a zone.',
  })
  readonly expiresAt?: string;

  @ApproversField({
    description:
      'Who has to approve: every group, each by different reviewers, together at least as many as `REQUIRED_APPROVALS` says ' +
      'for the risk level. Without it, that number of any active agents.',
  })
  readonly approvers?: readonly GivenGroup[];
}
