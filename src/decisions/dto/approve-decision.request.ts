import { normaliseAgentName } from '../../agents/agent-name';
import { sampleId } from '../../openapi/sample-id';
import { OptionalText, RequiredText } from '../../http/validation/text-fields';

export class ApproveDecisionRequest {
  @RequiredText({
    max: 200,
    description: 'Id or name of the approving agent.',
    example: sampleId('agt', 2),
    normalise: normaliseAgentName,
  })
  readonly approverId!: string;

  @OptionalText({ max: 2000, mayBeBlank: true, example: 'Checked against the change calendar.' })
  readonly comment?: string;
}
