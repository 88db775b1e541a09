import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { Allow, IsOptional } from 'class-validator';
import { invalidField } from '../../core/errors/domain-error';
import { ANY_JSON_SCHEMA, type JsonObject, type JsonValue } from '../../core/json/json-value';
import { CheckedBy, ItemsAre, ItemsHaveShape, WholeRequest } from './dto';
import { parseTimestamp } from './timestamp';
import {
  booleanShape,
  choiceShape,
  type ChoiceText,
  type FaultInside,
  type FieldText,
  freeFormShape,
  integerShape,
  type ListShape,
  type MemberRule,
  type Presence,
  scalarShape,
  type Shape,
  fieldSchema,
  type TextLimits,
  type TextListLimits,
  textShape,
  textsShape,
} from './shapes';

/**
 * Declares a member of this shape. @param mayBeNull true if the API document says so; an optional member accepts null
 */
export function Field(
  { rule, schema }: { readonly rule: MemberRule; readonly schema: object },
  field: FieldText & Presence,
  mayBeNull = field.optional ?? false,
): PropertyDecorator {
  const { optional = false } = field;
  // For an object, `required` would list its own members. Each of several alternatives states that it may be null.
  const presence = 'type' in schema && schema.type === 'object' ? { selfRequired: !optional } : { required: !optional };
  return applyDecorators(
    ...(optional ? [IsOptional()] : []),
    CheckedBy('shape', rule),
    ApiProperty({ ...schema, ...presence, ...fieldSchema({ ...field, optional: mayBeNull && !('anyOf' in schema) }) }),
  );
}

/** Declares a list, of which all items together take long to check. */
export function LongListField(shape: ListShape, field: FieldText & Presence): PropertyDecorator {
  return applyDecorators(Field({ rule: shape.lengthRule, schema: shape.schema }, field), ItemsHaveShape(shape));
}

/** Converts the texts of a member before it is checked. */
export function ReadAs(read: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? read(value) : value));
}

export interface TextField extends TextLimits, FieldText<string> {
  /** Normalises the text before it is checked. */
  readonly normalise?: (text: string) => string;
}

/** Bounds of a casual remark: a reason, a comment, a description. It may be blank. */
export const REMARK = { max: 2_000, mayBeBlank: true };

/** A required text. */
export function RequiredText(field: TextField): PropertyDecorator {
  return text({ ...field, optional: false });
}

/** A text that may be left out; `null` counts as left out. */
export function OptionalText(field: TextField): PropertyDecorator {
  return text({ ...field, optional: true });
}

function text(field: TextField & Presence): PropertyDecorator {
  const { normalise } = field;
  const member = Field(textShape(field), field);
  return normalise === undefined ? member : applyDecorators(ReadAs(normalise), member);
}

/** A list of distinct texts; a fault names the index. */
export function DistinctStrings(field: TextListLimits & FieldText<string[]> & Presence): PropertyDecorator {
  const { minItems = 0, maxItems } = field;
  const { rule, schema } = textsShape(field);
  return Field({ rule, schema: { type: 'array', items: schema.items, minItems, maxItems, uniqueItems: true } }, field);
}

/** One of the given texts. */
export function OneOf(values: readonly string[], field: ChoiceText & Presence): PropertyDecorator {
  return Field(choiceShape(values, field), field);
}

const TIMESTAMP: Shape = { rule: timestampFault, schema: { type: 'string', format: 'date-time' } };
const InUtc = ReadAs((text) => parseTimestamp(text) ?? text);

/** An RFC 3339 time with a zone; the DTO holds it in UTC with milliseconds. */
export function TimestampField(field: FieldText<string> & Presence): PropertyDecorator {
  return applyDecorators(InUtc, Field(TIMESTAMP, field));
}

/** A timestamp in a change: if left out, it stays; null removes it. */
export function ClearableTimestampField(field: FieldText<string>): PropertyDecorator {
  return applyDecorators(InUtc, clearable(TIMESTAMP, field));
}

/** A text in a change: if left out, it stays; null removes it. */
export function ClearableText(field: TextField): PropertyDecorator {
  return clearable(textShape(field), field);
}

function clearable({ rule, schema }: Shape, field: FieldText): PropertyDecorator {
  return applyDecorators(
    CheckedBy('clearable', (value) => (value === undefined || value === null ? undefined : rule(value))),
    ApiProperty({ ...(schema as object), nullable: true, required: false, ...fieldSchema(field) }),
  );
}

function timestampFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const isTime = typeof value === 'string' && parseTimestamp(value) === value;
  return isTime ? undefined : 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z';
}

const YEARS_AHEAD = 10;

/**
 * A time of expiry, at most ten years ahead. The ledger checks that it is in the future: a request replayed with its
 * `Idempotency-Key` after that time still gets its first response.
 */
export function ExpiryField(field: FieldText<string>): PropertyDecorator {
  const rule: MemberRule = (value) => {
    const now = new Date();
    return timestampFault(value) ?? (String(value) <= latestExpiry(now) ? undefined : expiryRule(now));
  };
  return applyDecorators(InUtc, Field({ ...TIMESTAMP, rule }, { optional: true, ...field }));
}

/** ISO 8601. */
function latestExpiry(now: Date): string {
  const latest = new Date(now);
  latest.setUTCFullYear(now.getUTCFullYear() + YEARS_AHEAD);
  return latest.toISOString();
}

/** Returns the expected `expiresAt`, as the message of a fault. */
function expiryRule(now: Date): string {
  return `must be in the future, by at most ${YEARS_AHEAD} years: up to ${latestExpiry(now)}`;
}

/**
 * Compares an expiry with the clock, as the client does: the ledger's time may be ahead of it.
 * @throws VALIDATION_ERROR
 */
export function requireAhead(expiresAt: string | undefined, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) throw invalidField('expiresAt', expiryRule(now));
}

export interface FreeFormField extends FieldText<JsonObject>, Presence {
  /** Returns faults of members that the service interprets. */
  readonly rule?: (value: JsonObject) => readonly FaultInside[];
}

/** An object whose content belongs to the client and is returned as it was sent. */
export function FreeFormObject(field: FreeFormField): PropertyDecorator {
  return Field(freeFormShape(field.rule), field);
}

interface JsonValueField extends FieldText<JsonValue> {
  /** Returns faults of members that the service interprets. */
  readonly rule?: (value: JsonValue) => readonly FaultInside[];
}

/** Any JSON value, kept as it was sent. It may be left out; `null` counts as left out. */
export function JsonField({ rule = () => [], ...field }: JsonValueField): PropertyDecorator {
  return Field({ rule: (value) => rule(value as JsonValue), schema: ANY_JSON_SCHEMA }, { ...field, optional: true });
}

/** A text (possibly empty), a number or a boolean. */
export function ScalarField(field: FieldText<string | number | boolean> & { maxLength: number }): PropertyDecorator {
  return Field(scalarShape(field.maxLength), field);
}

export interface IntegerLimits extends FieldText<number>, Presence {
  readonly min: number;
  readonly max: number;
}

/** A whole number between bounds. */
export function IntegerField(field: IntegerLimits): PropertyDecorator {
  return Field(integerShape(field.min, field.max), field);
}

/** A list whose items are DTOs. */
export function ListOf(item: Type, field: FieldText & Presence & { readonly maxItems: number }): PropertyDecorator {
  const { maxItems } = field;
  const isList = (value: unknown): boolean => Array.isArray(value) && value.length <= maxItems;
  const rule: MemberRule = (value) => (isList(value) ? undefined : `must be an array of at most ${maxItems} items`);
  return applyDecorators(ItemsAre(item, maxItems), Field({ rule, schema: { type: [item], maxItems } }, field));
}

/** True or false. */
export function BooleanField(field: FieldText<boolean> & Presence): PropertyDecorator {
  return Field(booleanShape(), field);
}

/** A member of responses that a request may have, so that a response can be edited and sent back. It is ignored. */
export function IgnoredField(field: FieldText): PropertyDecorator {
  const description = field.description ?? 'Accepted as it was returned, and ignored.';
  return applyDecorators(Allow(), ApiProperty({ ...ANY_JSON_SCHEMA, required: false, ...field, description }));
}

/** The request must have at least one of the named members. */
export function AtLeastOneOf(...names: readonly string[]): ClassDecorator {
  const fault = { field: 'body', message: `must have at least one of ${names.join(', ')}` };
  return WholeRequest((members) => (names.some((name) => members[name] !== undefined) ? [] : [fault]));
}

/** A list of the request must name at least one thing, and each only once. */
export function EachNamedOnce(
  list: string,
  nameOf: (item: Partial<Record<string, unknown>>) => unknown,
): ClassDecorator {
  return WholeRequest(({ [list]: items }) => {
    if (!Array.isArray(items)) return [];
    if (items.length === 0) return [{ field: list, message: 'must have at least one item' }];
    const seen = new Set<unknown>();
    return items.flatMap((item: unknown, index) => {
      const name = nameOf(item ?? {});
      if (seen.has(name)) return { field: `${list}[${index}]`, message: 'must be named once' };
      seen.add(name);
      return [];
    });
  });
}
