import { RISK_LEVELS, type RiskLevel } from '../../config/configuration';
import { sampleId } from '../../docs/sample-id';
import { FreeFormObject } from '../../http/validation/body-fields';
import { OneOf, OptionalText, RequiredText } from '../../http/validation/text-fields';
import type { JsonObject } from '../../json/json-value';
import { decisionTypeFault } from '../decision-rules';
import { ExpiryField } from './expiry-field';

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

  @RequiredText({ max: 100, description: 'Id of the proposing agent.', example: sampleId('agt') })
  readonly proposedBy!: string;

  @OneOf(RISK_LEVELS, { description: 'Decides how many approvals are needed.', example: 'high' })
  readonly riskLevel!: RiskLevel;

  @OptionalText({ max: 2000, mayBeBlank: true, default: '', example: 'Rolls out the new fraud checks.' })
  readonly description?: string;

  @FreeFormObject({ optional: true, default: {}, description: 'Free-form members.', example: { change: 'CHG-1042' } })
  readonly context?: JsonObject;

  @ExpiryField()
  readonly expiresAt?: string;
}
