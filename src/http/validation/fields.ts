import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { Allow, IsOptional } from 'class-validator';
import { invalidField } from '../../core/errors/domain-error';
import { ANY_JSON_SCHEMA, type JsonObject, type JsonValue } from '../../core/json/json-value';
import { CheckedBy, ItemsAre, WholeRequest } from './dto';
import { parseTimestamp } from './timestamp';
import {
  booleanFault,
  type FaultInside,
  integerFault,
  leastLength,
  type MemberRule,
  objectFault,
  oneOfFault,
  scalarFault,
  textFault,
  type TextLimits,
  textListFault,
  type TextListLimits,
} from './value-rules';

/** How a member is shown in the API document. */
export interface FieldText<Example = unknown> {
  readonly description?: string;
  readonly example?: Example;
  /** What the service assumes if the member is left out. */
  readonly default?: Example;
}

export interface Presence {
  /** The member may be left out; `null` counts as left out. */
  readonly optional?: boolean;
}

interface ShownField<Example> extends Pick<FieldText<Example>, 'description' | 'example'> {
  readonly nullable?: true;
}

/** What the API document shows of a field, without members only needed for validation. */
export function shown<Example>(field: FieldText<Example> & Presence): ShownField<Example> {
  const { example, optional = false } = field;
  const description = describe(field);
  return {
    ...(description !== '' && { description }),
    ...(example !== undefined && { example }),
    ...(optional && { nullable: true as const }),
  };
}

/** The default is put into words: given in the schema, client generators would make the member always present. */
function describe<Example>({ description, default: taken }: FieldText<Example>): string {
  const words = taken === undefined ? [] : [`Without it \`${JSON.stringify(taken)}\`.`];
  return [...(description === undefined ? [] : [description]), ...words].join(' ');
}

/** A choice among texts. */
export interface ChoiceText extends FieldText<string> {
  /** What the API document calls the choice, such as `RiskLevel`. */
  readonly enumName?: string;
}

interface ShownChoice {
  readonly type?: 'string';
  readonly enum: (string | null)[];
  readonly enumName?: string;
}

/**
 * How the API document shows a choice: under its name, so that clients have one type for it. An optional choice also
 * takes null, which in OpenAPI 3.0 is one of its values.
 */
export function shownChoice(values: readonly string[], field: ChoiceText & Presence): ShownChoice {
  const { enumName, optional = false } = field;
  if (optional) return { type: 'string', enum: [...values, null] };
  return { enum: [...values], ...(enumName !== undefined && { enumName }) };
}

/** How a rule checks a member, and a schema describes it. */
interface FieldShape {
  readonly rule: MemberRule;
  readonly schema: object;
}

/** A member of this shape. `name` distinguishes its rule from others on the same member. */
export function Field(name: string, { rule, schema }: FieldShape, field: FieldText & Presence): PropertyDecorator {
  const { optional = false } = field;
  // Of an object `required` would list its own members. Of alternatives each says that it may be null.
  const presence = 'type' in schema && schema.type === 'object' ? { selfRequired: !optional } : { required: !optional };
  return applyDecorators(
    ...(optional ? [IsOptional()] : []),
    CheckedBy(name, rule),
    ApiProperty({ ...schema, ...presence, ...shown('anyOf' in schema ? { ...field, optional: false } : field) }),
  );
}

/** Converts the texts given for a member before it is checked. */
export function ReadAs(read: (text: string) => unknown): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? read(value) : value));
}

export interface TextField extends TextLimits, FieldText<string> {
  /** Normalises the text before it is checked. */
  readonly normalise?: (text: string) => string;
}

/** What people say in passing: a reason, a comment, a description. It may be blank. */
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
  const { max, normalise } = field;
  const schema = { type: String, minLength: leastLength(field), maxLength: max };
  const member = Field('text', { rule: (value) => textFault(value, field), schema }, field);
  return normalise === undefined ? member : applyDecorators(ReadAs(normalise), member);
}

/** A list of distinct texts; a fault names the index. */
export function DistinctStrings(field: TextListLimits & FieldText<string[]> & Presence): PropertyDecorator {
  const { minItems = 0, maxItems, item } = field;
  const items = { type: 'string', minLength: leastLength(item), maxLength: item.max };
  const schema = { type: 'array', items, minItems, maxItems, uniqueItems: true };
  return Field('distinctStrings', { rule: (value) => textListFault(value, field), schema }, field);
}

/** One of the given texts. */
export function OneOf(values: readonly string[], field: ChoiceText & Presence): PropertyDecorator {
  return Field('oneOf', { rule: (value) => oneOfFault(value, values), schema: shownChoice(values, field) }, field);
}

/** An RFC 3339 time with a zone; the DTO holds it in UTC with milliseconds. */
export function TimestampField(field: FieldText<string> & Presence): PropertyDecorator {
  return applyDecorators(
    ReadAs((given) => parseTimestamp(given) ?? given),
    Field('timestamp', { rule: timestampFault, schema: { type: String, format: 'date-time' } }, field),
  );
}

/** The same of a change: left out it stays as it is, and null takes it away. */
export function ClearableTimestampField(field: FieldText<string>): PropertyDecorator {
  return applyDecorators(
    ReadAs((given) => parseTimestamp(given) ?? given),
    CheckedBy('timestamp', (value) => (value === undefined || value === null ? undefined : timestampFault(value))),
    ApiProperty({ type: String, format: 'date-time', nullable: true, required: false, ...shown(field) }),
  );
}

/** The same of a text. */
export function ClearableText(field: TextField): PropertyDecorator {
  const rule: MemberRule = (value) => (value === undefined || value === null ? undefined : textFault(value, field));
  const schema = { type: String, minLength: leastLength(field), maxLength: field.max };
  return applyDecorators(
    CheckedBy('text', rule),
    ApiProperty({ ...schema, nullable: true, required: false, ...shown(field) }),
  );
}

function timestampFault(value: unknown): string | undefined {
  if (value === undefined) return 'is required';
  const isTime = typeof value === 'string' && parseTimestamp(value) === value;
  return isTime ? undefined : 'must be an RFC 3339 time with a zone, such as 2026-11-20T06:18:03Z';
}

const YEARS_AHEAD = 10;

/** When something expires: in the future, at most ten years ahead. */
export function ExpiryField(field: FieldText<string>): PropertyDecorator {
  return applyDecorators(
    TimestampField({ optional: true, ...field }),
    CheckedBy('expiry', (value) => expiryFault(value, new Date())),
  );
}

/**
 * The ledger checks that it is in the future: a request replayed with its `Idempotency-Key` after that time still gets
 * its first answer. A value that is not a time is reported by another rule.
 */
function expiryFault(value: unknown, now: Date): string | undefined {
  const expiresAt = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return expiresAt === undefined || expiresAt <= latestExpiry(now) ? undefined : expiryRule(now);
}

/** ISO 8601. */
function latestExpiry(now: Date): string {
  const latest = new Date(now);
  latest.setUTCFullYear(now.getUTCFullYear() + YEARS_AHEAD);
  return latest.toISOString();
}

/** What `expiresAt` must be, as the message of a fault. */
function expiryRule(now: Date): string {
  return `must be in the future, by at most ${YEARS_AHEAD} years: up to ${latestExpiry(now)}`;
}

/**
 * Compared with the clock, as the client does: the ledger's time may be ahead of it.
 * @throws VALIDATION_ERROR
 */
export function requireAhead(expiresAt: string | undefined, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) throw invalidField('expiresAt', expiryRule(now));
}

export interface FreeFormField extends FieldText<JsonObject>, Presence {
  /** Faults in members whose meaning the service knows. */
  readonly rule?: (value: JsonObject) => readonly FaultInside[];
}

/** An object whose content belongs to the client and is returned as it was sent. */
export function FreeFormObject(field: FreeFormField): PropertyDecorator {
  const schema = { type: 'object', additionalProperties: true };
  return Field('freeFormObject', { rule: (value) => objectFault(value, field.rule), schema }, field);
}

/** Any JSON value, kept as it was sent. It may be left out; `null` counts as left out. */
export function JsonField(field: FieldText<JsonValue>): PropertyDecorator {
  return Field('json', { rule: () => undefined, schema: ANY_JSON_SCHEMA }, { ...field, optional: true });
}

/** A text (possibly empty), a number or a boolean. */
export function ScalarField(field: FieldText<string | number | boolean> & { maxLength: number }): PropertyDecorator {
  const { maxLength } = field;
  const schema = { oneOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'boolean' }] };
  return Field('scalar', { rule: (value) => scalarFault(value, maxLength), schema }, field);
}

export interface IntegerLimits extends FieldText<number>, Presence {
  readonly min: number;
  readonly max: number;
}

/** A whole number between bounds. */
export function IntegerField(field: IntegerLimits): PropertyDecorator {
  const { min, max } = field;
  const schema = { type: 'integer', minimum: min, maximum: max };
  return Field('integer', { rule: (value) => integerFault(value, min, max), schema }, field);
}

/** A list whose items are DTOs. */
export function ListOf(item: Type, field: FieldText & Presence & { readonly maxItems: number }): PropertyDecorator {
  const { maxItems } = field;
  const isList = (value: unknown): boolean => Array.isArray(value) && value.length <= maxItems;
  const rule: MemberRule = (value) => (isList(value) ? undefined : `must be an array of at most ${maxItems} items`);
  return applyDecorators(
    ItemsAre(item, maxItems),
    Field('listOf', { rule, schema: { type: [item], maxItems } }, field),
  );
}

/** True or false. */
export function BooleanField(field: FieldText<boolean> & Presence): PropertyDecorator {
  return Field('boolean', { rule: booleanFault, schema: { type: Boolean } }, field);
}

/** A member of answers, accepted and ignored in a request so that an answer can be edited and sent back. */
export function IgnoredField(field: FieldText): PropertyDecorator {
  const description = field.description ?? 'Accepted as it was returned, and ignored.';
  return applyDecorators(Allow(), ApiProperty({ ...ANY_JSON_SCHEMA, required: false, ...field, description }));
}

/** The request must have at least one of the named members. */
export function AtLeastOneOf(...names: readonly string[]): ClassDecorator {
  const fault = { field: 'body', message: `must have at least one of ${names.join(', ')}` };
  return WholeRequest((members) => (names.some((name) => members[name] !== undefined) ? [] : [fault]));
}

/** A list of the request names something, at least one, and each once. */
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
