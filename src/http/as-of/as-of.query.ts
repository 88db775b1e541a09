import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import type { Moment } from '../../ledger/record-history';
import { QueryMoment } from '../validation/query-fields';
import { type FieldText, optionalMark, shown } from '../validation/field-text';
import { CheckedBy } from '../validation/member-rule';
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
  return applyDecorators(
    ...optionalMark({ optional: true }),
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? (parseTimestampOrDate(value) ?? value) : value,
    ),
    CheckedBy('moment', momentFault),
    ApiProperty({
      anyOf: [
        { type: 'integer', minimum: 1, nullable: true },
        { type: 'string', nullable: true },
      ],
      required: false,
      ...shown(field),
    }),
  );
}

function momentFault(value: unknown): string | undefined {
  const isSequence = Number.isSafeInteger(value) && Number(value) >= 1;
  const isTime = typeof value === 'string' && parseTimestampOrDate(value) !== undefined;
  return isSequence || isTime
    ? undefined
    : 'must be the sequence of an entry, an integer of 1 or more, or an RFC 3339 time with a zone or a date, as text';
}
