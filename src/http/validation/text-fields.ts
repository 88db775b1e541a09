import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  type ChoiceText,
  type FieldText,
  isRequired,
  optionalMark,
  type Presence,
  shown,
  shownChoice,
} from './field-text';
import { CheckedBy } from './member-rule';
import { parseTimestamp } from './timestamp';
import { leastLength, oneOfFault, type TextLimits, type TextListLimits, textListFault, textRule } from './value-rules';

export interface TextField extends TextLimits, FieldText<string> {
  /** Normalises the text before it is checked. */
  readonly normalise?: (text: string) => string;
}

/** A required text. */
export function RequiredText(field: TextField): PropertyDecorator {
  return text(field, { optional: false });
}

/** A text that may be left out; `null` counts as left out. */
export function OptionalText(field: TextField): PropertyDecorator {
  return text(field, { optional: true });
}

function text(field: TextField, present: Presence): PropertyDecorator {
  const { max, normalise } = field;
  return applyDecorators(
    ...optionalMark(present),
    ...(normalise === undefined ? [] : [Transform(({ value }) => onText(value, normalise))]),
    CheckedBy('text', textRule(field)),
    ApiProperty({
      type: String,
      required: isRequired(present),
      minLength: leastLength(field),
      maxLength: max,
      ...shown({ ...field, ...present }),
    }),
  );
}

function onText(value: unknown, change: (text: string) => string): unknown {
  return typeof value === 'string' ? change(value) : value;
}

/** A list of distinct texts; a fault names the index. */
export function DistinctStrings(field: TextListLimits & FieldText<string[]> & Presence): PropertyDecorator {
  const { minItems = 0, maxItems, item } = field;
  return applyDecorators(
    ...optionalMark(field),
    CheckedBy('distinctStrings', (value) => textListFault(value, field)),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: leastLength(item), maxLength: item.max },
      required: isRequired(field),
      minItems,
      maxItems,
      uniqueItems: true,
      ...shown(field),
    }),
  );
}

/** One of the given texts. */
export function OneOf(values: readonly string[], field: ChoiceText & Presence): PropertyDecorator {
  return applyDecorators(
    ...optionalMark(field),
    CheckedBy('oneOf', (value) => oneOfFault(value, values)),
    ApiProperty({ ...shownChoice(values, field), required: isRequired(field), ...shown(field) }),
  );
}

/** An RFC 3339 time with a zone; the DTO holds it in UTC with milliseconds. */
export function TimestampField(field: FieldText<string> & Presence): PropertyDecorator {
  return applyDecorators(
    ...optionalMark(field),
    Transform(({ value }) => onText(value, (given) => parseTimestamp(given) ?? given)),
    CheckedBy('timestamp', timestampFault),
    ApiProperty({ type: String, format: 'date-time', required: isRequired(field), ...shown(field) }),
  );
}

function timestampFault(value: unknown): string | undefined {
  if (value === undefined) {
    return 'is required';
  }
  const isTime = typeof value === 'string' && parseTimestamp(value) === value;
  return isTime ? undefined : 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z';
}
