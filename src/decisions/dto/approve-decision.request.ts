import { sampleId } from '../../docs/sample-id';
import { OptionalText, RequiredText } from '../../http/validation/text-fields';

export class ApproveDecisionRequest {
  @RequiredText({ max: 100, description: 'Id of the approving agent.', example: sampleId('agt', 2) })
  readonly approverId!: string;

  @OptionalText({ max: 2000, mayBeBlank: true, example: 'Checked against the change calendar.' })
  readonly comment?: string;
}
