import type { Moment } from '../../ledger/record-history';
import { QueryMoment } from '../validation/query-fields';

export class AsOfQuery {
  @QueryMoment({
    description:
      'Returns the record as it was then: after the entry with this sequence, or at this time (RFC 3339 with a zone, or a ' +
      'date). Without an `ETag`.',
  })
  readonly asOf?: Moment;
}
