import { OptionalText, RequiredText } from '../../http/validation/text-fields';

export class ApproveDecisionRequest {
  @RequiredText({ max: 100, description: 'Id of the approving agent.', example: 'agt_01KAGQ7F4Q9W2Z6D8S1K5R3YVB' })
  readonly approverId!: string;

  @OptionalText({ max: 2000, mayBeBlank: true, example: 'Checked against the change calendar.' })
  readonly comment?: string;
}
