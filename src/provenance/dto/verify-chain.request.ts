import { IntegerField } from '../../http/validation/body-fields';

export class VerifyChainRequest {
  @IntegerField({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description: 'The first sequence to check, its link to the entry before included. Without it the whole chain.',
    example: 1,
  })
  readonly from?: number;
}
