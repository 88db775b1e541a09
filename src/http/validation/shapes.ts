import type { SchemaObject } from '@nestjs/swagger';
import { MOST_FAULTS } from '../../core/errors/domain-error';
import type { JsonObject } from '../../core/json/json-value';
import { stepTo } from '../body/json-scanner';

/** A fault inside a member: `at` is the rest of its path, such as `[1]` or `.confidence`. */
export interface FaultInside {
  readonly at: string;
  readonly message: string;
}

/** Returns the fault of a member's value: a message, faults located inside it, or nothing. */
export type MemberRule = (value: unknown) => string | readonly FaultInside[] | undefined;

/** A form of values: a rule for their faults, and their schema in the API document. */
export interface Shape {
  readonly rule: MemberRule;
  readonly schema: SchemaObject;
}

/** Description of a member in the API document. */
export interface FieldText<Example = unknown> {
  readonly description?: string;
  readonly example?: Example;
  /** Value that the service assumes if the member is left out. */
  readonly default?: Example;
}

export interface Presence {
  /** The member may be left out; `null` counts as left out. */
  readonly optional?: boolean;
}

interface DocumentedField<Example> extends Pick<FieldText<Example>, 'description' | 'example'> {
  readonly nullable?: true;
}

/**
 * Returns the schema of a field in the API document, without members only needed for validation. The default is put
 * into words: in the schema, it would make client generators always require the member.
 */
export function fieldSchema<Example>(field: FieldText<Example> & Presence): DocumentedField<Example> {
  const { example, default: defaultValue, optional = false } = field;
  const words = defaultValue === undefined ? [] : [`Default: \`${JSON.stringify(defaultValue)}\`.`];
  const description = [...(field.description === undefined ? [] : [field.description]), ...words].join(' ');
  return {
    ...(description !== '' && { description }),
    ...(example !== undefined && { example }),
    ...(optional && { nullable: true as const }),
  };
}

export interface TextLimits {
  /** Fewest code points; 1 by default, 0 if it may be blank. */
  readonly min?: number;
  /** Most code points. */
  readonly max: number;
  /** True if white space alone is allowed. */
  readonly mayBeBlank?: boolean;
  /** Returns a further fault of a text of valid length; undefined if there is none. */
  readonly rule?: (text: string) => string | undefined;
}

/** Returns the fault of a text; undefined if there is none. */
export function textFault(value: unknown, limits: TextLimits): string | undefined {
  const { max, mayBeBlank = false, rule } = limits;
  const min = leastLength(limits);
  if (value === undefined) return 'is required';
  if (typeof value !== 'string') return 'must be a string';
  if (!mayBeBlank && value.trim() === '') return 'must not be blank';
  if (!hasLength(value, min, max)) {
    return min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`;
  }
  return rule?.(value);
}

function leastLength({ min, mayBeBlank }: TextLimits): number {
  return min ?? (mayBeBlank === true ? 0 : 1);
}

/** Counts code points only if needed. A text never has fewer UTF-16 units, so these settle the ordinary case. */
function hasLength(text: string, min: number, max: number): boolean {
  if (text.length <= max && (min <= 1 || text.length >= 2 * min)) return text.length >= min;
  if (text.length > 2 * max) return false;
  const length = Array.from(text).length;
  return length >= min && length <= max;
}

export function textShape(limits: TextLimits & { readonly normalise?: (text: string) => string }): Shape {
  const { max, normalise = (text: string): string => text } = limits;
  return {
    rule: (value) => textFault(typeof value === 'string' ? normalise(value) : value, limits),
    schema: { type: 'string', minLength: leastLength(limits), maxLength: max },
  };
}

export interface TextListLimits {
  readonly minItems?: number;
  readonly maxItems: number;
  readonly item: TextLimits;
}

/** A list of distinct texts; each fault is at its index. */
export function textsShape({ minItems = 0, maxItems, item }: TextListLimits): Shape {
  const rule: MemberRule = (value) => {
    if (value === undefined) return 'is required';
    if (!Array.isArray(value)) return 'must be an array of strings';
    if (value.length < minItems || value.length > maxItems) {
      return minItems > 0 ? `must have ${minItems} to ${maxItems} items` : `must have at most ${maxItems} items`;
    }
    const seen = new Set<unknown>();
    return value.flatMap((text: unknown, index): FaultInside[] => {
      const message = textFault(text, item) ?? (seen.has(text) ? 'must differ from the items before it' : undefined);
      seen.add(text);
      return message === undefined ? [] : [{ at: `[${index}]`, message }];
    });
  };
  return { rule, schema: { type: 'array', maxItems, items: textShape(item).schema } };
}

/** A choice among texts. */
export interface ChoiceText extends FieldText<string> {
  /** Name of the choice in the API document, such as `RiskLevel`: clients have one type for it. */
  readonly enumName?: string;
}

/** Returns the fault of a choice among texts; undefined if the value is one of them. */
export function oneOfFault(value: unknown, values: readonly string[]): string | undefined {
  if (typeof value === 'string' && values.includes(value)) return undefined;
  return `${value === undefined ? 'is required:' : 'must be'} one of ${values.join(', ')}`;
}

/** One of the texts. A choice that may be left out also takes null, which in OpenAPI 3.0 is one of its values. */
export function choiceShape(
  values: readonly string[],
  { enumName, optional = false }: ChoiceText & Presence = { optional: true },
): Shape {
  const enumSchema = { enum: [...values], ...(enumName !== undefined && { enumName }) };
  const schema = optional ? { type: 'string', enum: [...values, null] } : enumSchema;
  return { rule: (value) => oneOfFault(value, values), schema };
}

/** A whole number between bounds. @param form required notation */
export function integerShape(minimum: number, maximum: number, form = ''): Shape {
  const rule: MemberRule = (value) => {
    if (value === undefined) return 'is required';
    const isInside = typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
    return isInside ? undefined : `must be an integer from ${minimum} to ${maximum}${form}`;
  };
  return { rule, schema: { type: 'integer', minimum, maximum } };
}

export function booleanShape(): Shape {
  const rule: MemberRule = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');
  return { rule, schema: { type: 'boolean' } };
}

/** A text (possibly empty), a number or a boolean. */
export function scalarShape(maxLength: number): Shape {
  const rule: MemberRule = (value) => {
    if (value === undefined) return 'is required';
    if (typeof value === 'number' || typeof value === 'boolean') return undefined;
    if (typeof value !== 'string') return 'must be a string, a number or a boolean';
    return hasLength(value, 0, maxLength) ? undefined : `must have at most ${maxLength} characters`;
  };
  return { rule, schema: { oneOf: [{ type: 'string', maxLength }, { type: 'number' }, { type: 'boolean' }] } };
}

export type Members = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object of any content. @param rule finds faults of members that the service interprets */
export function freeFormShape(rule?: (value: JsonObject) => readonly FaultInside[]): Shape {
  return {
    rule: (value) => {
      if (value === undefined) return 'is required';
      return isObject(value) ? rule?.(value as JsonObject) : 'must be an object';
    },
    schema: { type: 'object', additionalProperties: true },
  };
}

/** A list, of which the items can also be checked one by one. */
export interface ListShape extends Shape {
  /** Finds the fault of the list apart from its items. */
  readonly lengthRule: MemberRule;
  readonly itemRule: MemberRule;
}

/** @param items plural name of the items */
export function listShape({ rule: itemRule, schema }: Shape, min: number, max: number, items: string): ListShape {
  const fault = `must be an array of ${min} to ${max} ${items}`;
  const lengthRule = (value: unknown): string | undefined => {
    if (value === undefined) return 'is required';
    return Array.isArray(value) && value.length >= min && value.length <= max ? undefined : fault;
  };
  const rule: MemberRule = (value) => {
    if (!Array.isArray(value) || lengthRule(value) !== undefined) return lengthRule(value);
    const faults: FaultInside[] = [];
    for (let index = 0; index < value.length && faults.length < MOST_FAULTS; index += 1)
      faults.push(...faultsAt(`[${index}]`, itemRule, value[index]));
    return faults;
  };
  return { rule, lengthRule, itemRule, schema: { type: 'array', minItems: min, maxItems: max, items: schema } };
}

/** A shape as a member of an object. `null` on an optional member counts as absent. */
type ShapeMember = Shape & Presence;

/** @param together returns faults of the combination of the members */
export function objectShape(
  members: Readonly<Record<string, ShapeMember>>,
  together: (members: Members) => readonly FaultInside[] = () => [],
): Shape {
  const all = Object.entries(members);
  const names = Object.keys(members);
  const required = all.flatMap(([name, { optional = false }]) => (optional ? [] : [name]));
  const unknown = `is not known here; known are ${names.join(', ')}`;
  const rule: MemberRule = (value) => {
    if (!isObject(value)) return 'must be an object';
    const others = Object.keys(value).filter((name) => !names.includes(name));
    const faults: FaultInside[] = others.slice(0, MOST_FAULTS).map((name) => ({ at: stepTo(name), message: unknown }));
    for (const [name, member] of all) {
      const memberValue = Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined;
      if (memberValue !== undefined || member.optional !== true)
        faults.push(...faultsAt(`.${name}`, member.rule, memberValue));
    }
    return [...faults, ...together(value)];
  };
  const properties = Object.fromEntries(all.map(([name, { schema }]) => [name, schema]));
  const schema = { type: 'object', additionalProperties: false, ...(required.length > 0 && { required }), properties };
  return { rule, schema };
}

/** A shape as a member, with its description in the API document. */
export function member({ rule, schema }: Shape, field: FieldText & Presence): ShapeMember {
  return { rule, schema: { ...schema, ...fieldSchema(field) }, optional: field.optional ?? false };
}

/** Returns the faults that a rule finds in the value at a path. */
export function faultsAt(at: string, rule: MemberRule, value: unknown): readonly FaultInside[] {
  const faults = rule(value) ?? [];
  if (typeof faults === 'string') return [{ at, message: faults }];
  return faults.map((fault) => ({ ...fault, at: `${at}${fault.at}` }));
}
