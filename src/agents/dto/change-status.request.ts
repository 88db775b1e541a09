import { OptionalText } from '../../http/validation/text-fields';

export class ChangeStatusRequest {
  @OptionalText({
    max: 2_000,
    mayBeBlank: true,
    description: 'Why; kept in the audit entry.',
    example: 'Unusual activity since this morning.',
  })
  readonly reason?: string;
}
