import { OptionalText } from '../../http/validation/text-fields';

export class CancelDecisionRequest {
  @OptionalText({
    max: 2000,
    mayBeBlank: true,
    description: 'Kept in the audit trail only.',
    example: 'The release was withdrawn.',
  })
  readonly reason?: string;
}
