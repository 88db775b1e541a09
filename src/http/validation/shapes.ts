import type { SchemaObject } from '@nestjs/swagger';
import { type FieldText, type Presence, shown, shownChoice } from './fields';
import {
  booleanFault,
  type FaultInside,
  integerFault,
  leastLength,
  type MemberRule,
  oneOfFault,
  textFault,
  type TextLimits,
  textListFault,
  type TextListLimits,
  unknownMembers,
} from './value-rules';

/** A form of values inside a member: what is wrong with one, and how the API document shows it. */
export interface Shape {
  readonly rule: MemberRule;
  readonly schema: SchemaObject;
}

/** A shape as a member of an object. `null` on an optional member counts as absent. */
type ShapeMember = Shape & Presence;

export type Members = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textShape(limits: TextLimits & { readonly normalise?: (text: string) => string }): Shape {
  const { max, normalise = (text: string): string => text } = limits;
  return {
    rule: (value) => textFault(typeof value === 'string' ? normalise(value) : value, limits),
    schema: { type: 'string', minLength: leastLength(limits), maxLength: max },
  };
}

/** A list of distinct texts. */
export function textsShape(limits: TextListLimits): Shape {
  const { maxItems, item } = limits;
  const items = { type: 'string', minLength: leastLength(item), maxLength: item.max };
  return { rule: (value) => textListFault(value, limits), schema: { type: 'array', maxItems, items } };
}

export function integerShape(minimum: number, maximum: number): Shape {
  return { rule: (value) => integerFault(value, minimum, maximum), schema: { type: 'integer', minimum, maximum } };
}

export function booleanShape(): Shape {
  return { rule: booleanFault, schema: { type: 'boolean' } };
}

/** A choice that may be left out. */
export function choiceShape(values: readonly string[]): Shape {
  const { enumName: _, ...schema } = shownChoice(values, { optional: true });
  return { rule: (value) => oneOfFault(value, values), schema };
}

/** @param items what its items are, in the plural. */
export function listShape({ rule, schema }: Shape, min: number, max: number, items: string): Shape {
  const fault = `must be an array of ${min} to ${max} ${items}`;
  const listRule: MemberRule = (value) => {
    if (value === undefined) return 'is required';
    if (!Array.isArray(value) || value.length < min || value.length > max) return fault;
    return value.flatMap((item, index) => faultsAt(`[${index}]`, rule, item));
  };
  return { rule: listRule, schema: { type: 'array', minItems: min, maxItems: max, items: schema } };
}

/** @param together finds what is wrong with the combination of the members. */
export function objectShape(
  members: Readonly<Record<string, ShapeMember>>,
  together: (given: Members) => readonly FaultInside[] = () => [],
): Shape {
  const all = Object.entries(members);
  const names = Object.keys(members);
  const required = all.flatMap(([name, { optional = false }]) => (optional ? [] : [name]));
  const rule: MemberRule = (value) => {
    if (!isObject(value)) return 'must be an object';
    const faults = [...unknownMembers(value, names)];
    for (const [name, member] of all) {
      const given = Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined;
      if (given !== undefined || member.optional !== true) faults.push(...faultsAt(`.${name}`, member.rule, given));
    }
    return [...faults, ...together(value)];
  };
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]));
  const schema = { type: 'object', additionalProperties: false, ...(required.length > 0 && { required }), properties };
  return { rule, schema };
}

/** A shape where it is a member: what the API document says of it there. */
export function member({ rule, schema }: Shape, field: FieldText & Presence): ShapeMember {
  return { rule, schema: { ...schema, ...shown(field) }, optional: field.optional ?? false };
}

/** What a rule finds in a value inside a member. Most have no faults, so that nothing is allocated for them. */
export function faultsAt(at: string, rule: MemberRule, value: unknown): readonly FaultInside[] {
  const found = rule(value);
  if (found === undefined || found.length === 0) return NO_FAULTS;
  if (typeof found === 'string') return [{ at, message: found }];
  return found.map((fault) => ({ ...fault, at: `${at}${fault.at}` }));
}

const NO_FAULTS: readonly FaultInside[] = [];
