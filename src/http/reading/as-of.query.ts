import { applyDecorators } from '@nestjs/common';
import type { Moment } from '../../ledger/record-history';
import { Field, ReadAs } from '../validation/fields';
import { type FieldText } from '../validation/shapes';
import { momentFault, QueryMoment } from '../validation/query-fields';
import { parseTimestampOrDate } from '../validation/timestamp';

export class AsOfQuery {
  @QueryMoment({
    description:
      'Returns the record as it was then: after the entry with this sequence, or at this time (RFC 3339 with a zone, or a ' +
      'date). Without an `ETag`.',
  })
  readonly asOf?: Moment;
}

/** The sequence of an entry as an integer, or a time or date as text; the DTO holds a time in UTC with milliseconds. */
export function MomentField(field: FieldText<string | number>): PropertyDecorator {
  const anyOf = [
    { type: 'integer', minimum: 1, nullable: true },
    { type: 'string', nullable: true },
  ];
  return applyDecorators(
    ReadAs((text) => parseTimestampOrDate(text) ?? text),
    Field({ rule: momentFault, schema: { anyOf } }, { ...field, optional: true }),
  );
}
