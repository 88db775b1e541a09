import { applyDecorators } from '@nestjs/common';
import { WholeRequest } from './dto';
import { Field, ReadAs } from './fields';
import {
  choiceShape,
  type ChoiceText,
  type FieldText,
  integerShape,
  type MemberRule,
  type TextLimits,
  type TextListLimits,
  textShape,
  textsShape,
} from './shapes';
import { parseTimestampOrDate } from './timestamp';

const DIGITS = /^\d{1,16}$/;
/** Matches a time whose offset lost its `+`, which means a space in a query. */
const OFFSET_WITHOUT_PLUS = /[Tt][\d:.]+ \d\d:\d\d$/;

export interface QueryPresence {
  /** True if the parameter must be given. */
  readonly required?: true;
}

/**
 * Declares a query parameter, which is a text and usually optional. A value that cannot be converted stays a text and
 * fails validation.
 */
function queryField(
  field: FieldText & QueryPresence,
  shape: { readonly rule: MemberRule; readonly schema: object },
  read: (text: string) => unknown = (text) => text,
): PropertyDecorator {
  return applyDecorators(ReadAs(read), Field(shape, { ...field, optional: field.required !== true }, false));
}

/** An integer in digits only. */
export function QueryInteger(
  field: FieldText<number> & QueryPresence & { min: number; max: number },
): PropertyDecorator {
  const read = (text: string): unknown => (DIGITS.test(text) ? Number(text) : text);
  return queryField(field, integerShape(field.min, field.max, ', in digits only'), read);
}

/** A text. */
export function QueryText(
  field: TextLimits & FieldText<string> & { normalise?: (text: string) => string },
): PropertyDecorator {
  const { max: maxLength, normalise } = field;
  return queryField(field, { ...textShape(field), schema: { type: String, maxLength } }, normalise);
}

/** Texts, one per occurrence of the parameter; the route lists it as repeatable. */
export function QueryTexts(field: TextListLimits & FieldText<string[]>): PropertyDecorator {
  const { maxItems, item } = field;
  const schema = { type: 'array', items: { type: 'string', maxLength: item.max }, maxItems };
  return queryField(field, { ...textsShape(field), schema });
}

/** One of the given texts. */
export function QueryOneOf(values: readonly string[], field: ChoiceText): PropertyDecorator {
  return queryField(field, choiceShape(values, field));
}

const TIME = { rule: timestampFault, schema: { type: String } };

/** An RFC 3339 time with a zone, or a date alone (midnight UTC); the DTO holds it in UTC with milliseconds. */
export function QueryTimestamp(field: FieldText<string>): PropertyDecorator {
  return queryField(field, TIME, (text) => parseTimestampOrDate(text) ?? text);
}

/** A sequence of the ledger, or a time or date as in `QueryTimestamp`; the DTO holds a number, or a time as text. */
export function QueryMoment(field: FieldText<string>): PropertyDecorator {
  const read = (text: string): unknown => (DIGITS.test(text) ? Number(text) : (parseTimestampOrDate(text) ?? text));
  const rule = (value: unknown): string | undefined => lostPlusFault(value) ?? momentFault(value);
  return queryField(field, { ...TIME, rule }, read);
}

/** Returns the fault of a sequence as an integer, or of a time or date as text. */
export function momentFault(value: unknown): string | undefined {
  const isSequence = Number.isSafeInteger(value) && Number(value) >= 1;
  const isTime = typeof value === 'string' && parseTimestampOrDate(value) !== undefined;
  return isSequence || isTime ? undefined : `must be the sequence of an entry, an integer of 1 or more, or ${A_TIME}`;
}

const A_TIME = 'an RFC 3339 time with a zone (2026-11-20T06:18:03Z) or a date (2026-11-20)';

function timestampFault(value: unknown): string | undefined {
  const text = String(value);
  return parseTimestampOrDate(text) === text ? undefined : (lostPlusFault(text) ?? `must be ${A_TIME}`);
}

function lostPlusFault(value: unknown): string | undefined {
  return OFFSET_WITHOUT_PLUS.test(String(value))
    ? 'must have the "+" of its offset written as %2B, since a bare "+" means a space'
    : undefined;
}

/** The query's `from` must not be later than its `to`. */
export function OrderedPeriod(): ClassDecorator {
  return WholeRequest(({ from, to }) => {
    const [start, end] = [readTime(from), readTime(to)];
    const isOrdered = start === undefined || end === undefined || start <= end;
    return isOrdered ? [] : [{ field: 'query.from', message: 'must not be later than to' }];
  });
}

/** Reads a time; undefined if the value is not one, which is reported for its own field. */
function readTime(value: unknown): string | undefined {
  return typeof value === 'string' ? parseTimestampOrDate(value) : undefined;
}
