import type { Moment } from '../../../ledger/record-history';
import { AsOfQuery } from '../../../http/reading/as-of.query';
import { IntegerField, RequiredText } from '../../../http/validation/fields';
import { QueryMoment } from '../../../http/validation/query-fields';
import { SAMPLE_POLICY_SET } from '../../../http/openapi/documentation.decorators';

const DIGEST = /^[0-9a-f]{64}$/;

export class AccessQuery extends AsOfQuery {
  @QueryMoment({
    description: 'Adds `changes`: what has come and gone since then. A sequence, a time or a date, as in `asOf`.',
  })
  readonly since?: Moment;
}

export class ReviewAccessRequest {
  @RequiredText({
    max: 64,
    description: 'The `rules` of the access that was reviewed.',
    example: SAMPLE_POLICY_SET,
    rule: (text) => (DIGEST.test(text) ? undefined : 'must be a SHA-256: 64 digits 0-9, a-f'),
  })
  readonly rules!: string;

  @IntegerField({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    description: 'The `revision` of the agent in the access that was reviewed.',
    example: 1,
  })
  readonly revision!: number;
}
