import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { type ChoiceText, type FieldText, shown, shownChoice } from './field-text';
import { CheckedBy } from './member-rule';
import { parseTimestampOrDate } from './timestamp';
import { integerFault, oneOfFault, type TextLimits, type TextListLimits, textListFault, textRule } from './value-rules';

const DIGITS = /^\d{1,16}$/;
/** A time whose offset lost its `+`, which means a space in a query. */
const OFFSET_WITHOUT_PLUS = /[Tt][\d:.]+ \d\d:\d\d$/;

export interface QueryPresence {
  /** The parameter must be given. */
  readonly required?: true;
}

/**
 * Query parameters are texts and mostly optional; a value that cannot be converted stays a text and fails validation.
 */
function queryField(read: (text: string) => unknown, ...others: PropertyDecorator[]): PropertyDecorator {
  return applyDecorators(IsOptional(), ReadAs(read), ...others);
}

function ReadAs(read: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? read(value) : value));
}

/** An integer in digits only. */
export function QueryInteger(
  field: FieldText<number> & QueryPresence & { min: number; max: number },
): PropertyDecorator {
  const { min, max, required = false } = field;
  const read = (text: string): unknown => (DIGITS.test(text) ? Number(text) : text);
  const check = CheckedBy('queryInteger', (value) => queryIntegerFault(value, min, max));
  const documented = ApiProperty({ type: 'integer', minimum: min, maximum: max, required, ...shown(field) });
  return required ? applyDecorators(ReadAs(read), check, documented) : queryField(read, check, documented);
}

function queryIntegerFault(value: unknown, min: number, max: number): string | undefined {
  if (value === undefined) return 'is required';
  return integerFault(value, min, max) === undefined ? undefined : digitsFault(min, max);
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
    CheckedBy('queryText', textRule(field)),
    ApiPropertyOptional({ type: String, maxLength: max, ...shown(field) }),
  );
}

/** Texts, one per occurrence of the parameter; the route marks it as repeatable. */
export function QueryTexts(field: TextListLimits & FieldText<string[]>): PropertyDecorator {
  const { maxItems, item } = field;
  return applyDecorators(
    IsOptional(),
    CheckedBy('queryTexts', (value) => textListFault(value, field)),
    ApiPropertyOptional({ type: 'array', items: { type: 'string', maxLength: item.max }, maxItems, ...shown(field) }),
  );
}

/** One of the given texts. */
export function QueryOneOf(values: readonly string[], field: ChoiceText): PropertyDecorator {
  return queryField(
    (text) => text,
    CheckedBy('queryOneOf', (value) => oneOfFault(value, values)),
    ApiPropertyOptional({ ...shownChoice(values, field), ...shown(field) }),
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

/** A sequence of the ledger, or a time or date as above; the DTO holds a number, or a time as text. */
export function QueryMoment(field: FieldText<string>): PropertyDecorator {
  return queryField(
    (text) => (DIGITS.test(text) ? Number(text) : (parseTimestampOrDate(text) ?? text)),
    CheckedBy('queryMoment', momentFault),
    ApiPropertyOptional({ type: String, ...shown(field) }),
  );
}

function momentFault(value: unknown): string | undefined {
  const isSequence = typeof value === 'number' && value >= 1 && Number.isSafeInteger(value);
  if (isSequence) return undefined;
  const fault = typeof value === 'number' ? '' : timestampFault(value);
  return fault === undefined || OFFSET_WITHOUT_PLUS.test(String(value))
    ? fault
    : 'must be the sequence of an entry, 1 or more, or an RFC 3339 time with a zone (2026-11-20T06:18:03Z) or a date (2026-11-20)';
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
