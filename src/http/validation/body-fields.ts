import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Allow } from 'class-validator';
import { ANY_JSON_SCHEMA, type JsonObject, type JsonValue } from '../../core/json/json-value';
import { listsDto, WholeRequest } from './dto-shape';
import { type FieldText, isRequired, optionalMark, type Presence, shown } from './field-text';
import { CheckedBy, type FaultInside } from './member-rule';
import { freeFormRule, integerFault, scalarRule } from './value-rules';
import { MOST_FAULTS } from '../../core/errors/domain-error';

export interface FreeFormField extends FieldText<JsonObject>, Presence {
  /** Faults in members whose meaning the service knows. */
  readonly rule?: (value: JsonObject) => readonly FaultInside[];
}

/** An object whose content belongs to the client and is returned as it was sent. */
export function FreeFormObject(field: FreeFormField): PropertyDecorator {
  return applyDecorators(
    ...optionalMark(field),
    CheckedBy('freeFormObject', freeFormRule(field.rule)),
    ApiProperty({ type: 'object', additionalProperties: true, selfRequired: isRequired(field), ...shown(field) }),
  );
}

/** Any JSON value, kept as it was sent. It may be left out; `null` counts as left out. */
export function JsonField(field: FieldText<JsonValue>): PropertyDecorator {
  return applyDecorators(
    ...optionalMark({ optional: true }),
    ApiProperty({ ...ANY_JSON_SCHEMA, required: false, ...shown(field) }),
  );
}

/** A text (possibly empty), a number or a boolean. */
export function ScalarField(field: FieldText<string | number | boolean> & { maxLength: number }): PropertyDecorator {
  const { maxLength } = field;
  return applyDecorators(
    CheckedBy('scalar', scalarRule(maxLength)),
    ApiProperty({ oneOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'boolean' }], ...shown(field) }),
  );
}

export interface IntegerLimits extends FieldText<number>, Presence {
  readonly min: number;
  readonly max: number;
}

/** A whole number between bounds. */
export function IntegerField(field: IntegerLimits): PropertyDecorator {
  const { min, max } = field;
  return applyDecorators(
    ...optionalMark(field),
    CheckedBy('integer', (value) => integerFault(value, min, max)),
    ApiProperty({ type: 'integer', minimum: min, maximum: max, required: isRequired(field), ...shown(field) }),
  );
}

/** A list whose items are DTOs; they are validated in chunks, so that a long list blocks nobody. */
export function ListOf(item: Type, field: FieldText & Presence & { readonly maxItems: number }): PropertyDecorator {
  const { maxItems } = field;
  const isList = (value: unknown): boolean => Array.isArray(value) && value.length <= maxItems;
  return applyDecorators(
    ...optionalMark(field),
    (target: object, member: string | symbol) => listsDto(target.constructor, { member: String(member), item }),
    CheckedBy('listOf', (value) => (isList(value) ? undefined : `must be an array of at most ${maxItems} items`)),
    ApiProperty({ type: [item], maxItems, required: isRequired(field), ...shown(field) }),
  );
}

/** True or false. */
export function BooleanField(field: FieldText<boolean> & Presence): PropertyDecorator {
  return applyDecorators(
    ...optionalMark(field),
    CheckedBy('boolean', (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')),
    ApiProperty({ type: Boolean, required: isRequired(field), ...shown(field) }),
  );
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

/** The members of an object that the service does not define: as many as are reported. */
export function unknownMembers(given: object, known: readonly string[]): readonly FaultInside[] {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  const message = `is not known here; known are ${known.join(', ')}`;
  return unknown.slice(0, MOST_FAULTS).map((name) => ({ at: `.${name}`, message }));
}
