import { OrderedPeriod, QueryOneOf, QueryTimestamp } from '../../../http/validation/query-fields';
import { type Bucket, BUCKETS } from '../period';

@OrderedPeriod()
export class OversightQuery {
  @QueryTimestamp({
    description:
      'First moment of the period: RFC 3339 with a zone, or a date (midnight UTC). Default: 30 days before `to`.',
  })
  readonly from?: string;

  @QueryTimestamp({ description: 'First moment after the period. Default: now.' })
  readonly to?: string;

  @QueryOneOf(BUCKETS, {
    enumName: 'ReportBucket',
    description: 'What the requests are divided by, in UTC; weeks begin on Monday. At most 400. Default: `day`.',
  })
  readonly bucket?: Bucket;
}
