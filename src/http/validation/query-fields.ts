import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { integerFault } from './body-fields';
import { type FieldText, shown } from './field-text';
import { CheckedBy } from './member-rule';
import { oneOfFault } from './text-fields';
import { type TextLimits, textFault } from './text-rules';
import { parseTimestampOrDate } from './timestamp';

const DIGITS = /^\d{1,16}$/;
/** A time whose offset lost its `+`, which means a space in a query. */
const OFFSET_WITHOUT_PLUS = /[Tt][\d:.]+ \d\d:\d\d$/;

/** Query parameters are texts and optional; what a parameter cannot be read as stays a text and fails its check. */
function queryField(read: (text: string) => unknown, ...others: PropertyDecorator[]): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? read(value) : value)),
    ...others,
  );
}

/** An integer in digits only. */
export function QueryInteger(field: FieldText<number> & { min: number; max: number }): PropertyDecorator {
  const { min, max } = field;
  return queryField(
    (text) => (DIGITS.test(text) ? Number(text) : text),
    CheckedBy('queryInteger', (value) =>
      integerFault(value, min, max) === undefined ? undefined : digitsFault(min, max),
    ),
    ApiPropertyOptional({ type: 'integer', minimum: min, maximum: max, ...shown(field) }),
  );
}

function digitsFault(min: number, max: number): string {
  return `must be an integer from ${min} to ${max}, in digits only`;
}

/** A text. */
export function QueryText(
  field: TextLimits & FieldText<string> & { normalise?: (text: string) => string },
): PropertyDecorator {
  const { max, normalise } = field;
  return queryField(
    (text) => normalise?.(text) ?? text,
    CheckedBy('queryText', (value) => textFault(value, field)),
    ApiPropertyOptional({ type: String, maxLength: max, ...shown(field) }),
  );
}

/** One of the given texts. */
export function QueryOneOf(values: readonly string[], field: FieldText<string>): PropertyDecorator {
  return queryField(
    (text) => text,
    CheckedBy('queryOneOf', (value) => oneOfFault(value, values)),
    ApiPropertyOptional({ type: String, enum: [...values], ...shown(field) }),
  );
}

/** An RFC 3339 time with a zone, or a date alone (midnight UTC); the DTO holds it in UTC with milliseconds. */
export function QueryTimestamp(field: FieldText<string>): PropertyDecorator {
  return queryField(
    (text) => parseTimestampOrDate(text) ?? text,
    CheckedBy('queryTimestamp', timestampFault),
    ApiPropertyOptional({ type: String, ...shown(field) }),
  );
}

function timestampFault(value: unknown): string | undefined {
  const text = String(value);
  if (parseTimestampOrDate(text) === text) {
    return undefined;
  }
  return OFFSET_WITHOUT_PLUS.test(text)
    ? 'must have the "+" of its offset written as %2B, since a bare "+" means a space'
    : 'must be an RFC 3339 time with a zone (2026-11-20T06:18:03Z) or a date (2026-11-20)';
}
