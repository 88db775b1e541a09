import { OptionalText } from '../../http/validation/text-fields';

export class RevokeApiKeyRequest {
  @OptionalText({
    max: 2000,
    mayBeBlank: true,
    description: 'Goes on record.',
    example: 'It was left in a public repository.',
  })
  readonly reason?: string;
}
