import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import {
  getMetadataStorage,
  registerDecorator,
  validate,
  type ValidationError,
  ValidationTypes,
  type ValidatorOptions,
} from 'class-validator';
import type { Configuration } from '../../core/config/configuration';
import { TimeSlice, yieldBetween } from '../../core/concurrency/time-slice';
import { type FieldFault, MOST_FAULTS } from '../../core/errors/domain-error';
import { printableKey } from '../body/json-scanner';
import { type FaultInside, faultsAt, isObject, type ListShape, type MemberRule } from './shapes';

/** Checks a member of a DTO. `name` distinguishes the rule from others on the same member. */
export function CheckedBy(name: string, rule: MemberRule): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      // The error keeps the positions of its faults; a message is only a text.
      options: { context: { rule } },
      validator: { validate: (value: unknown) => faultsAt('', rule, value).length === 0, defaultMessage: () => name },
    });
}

/** Returns the faults of a request as a whole, judged by its members; `null` members have been removed. */
export type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

/** A rule for a request as a whole that depends on settings. */
export type ConfiguredRule = (
  members: Readonly<Record<string, unknown>>,
  configuration: Configuration,
) => readonly FieldFault[];

const WHOLE_RULES = 'http:whole-rules';
const DTO_LISTS = 'http:dto-lists';
const LONG_LISTS = 'http:long-lists';

/** Validates a request by the combination of its members. */
export function WholeRequest(rule: WholeRule): ClassDecorator {
  return ConfiguredRequest(rule);
}

/** Checks a whole request by a rule that depends on settings. */
export function ConfiguredRequest(rule: ConfiguredRule): ClassDecorator {
  return (target) => append(WHOLE_RULES, target, rule);
}

/** A member that is a list of DTOs. */
interface DtoList {
  readonly member: string;
  readonly item: Type;
  readonly maxItems: number;
}

/** Makes each item of a member a DTO of its own, unless there are more than `maxItems`. */
export function ItemsAre(item: Type, maxItems: number): PropertyDecorator {
  return (target, member) => append(DTO_LISTS, target.constructor, { member: String(member), item, maxItems });
}

/** A member that is a list, of which all items together take long to check. */
interface LongList {
  readonly member: string;
  readonly shape: ListShape;
}

/** Checks the items of a member one by one; other requests are served in between. */
export function ItemsHaveShape(shape: ListShape): PropertyDecorator {
  return (target, member) => append(LONG_LISTS, target.constructor, { member: String(member), shape });
}

/** Appends to a list kept on a class, in addition to the lists of the classes it extends. */
function append(key: string, type: object, value: unknown): void {
  Reflect.defineMetadata(key, [...collected(key, type), value], type);
}

function collected(key: string, type: object): readonly unknown[] {
  return (Reflect.getMetadata(key, type) as readonly unknown[] | undefined) ?? [];
}

/** Declarations by the decorators of a DTO. */
interface Declaration {
  readonly members: ReadonlySet<string>;
  readonly optional: ReadonlySet<string>;
  /** Members that class-transformer makes DTOs, for classes that use its own decorators. */
  readonly nested: ReadonlySet<string>;
  readonly lists: readonly DtoList[];
  readonly longLists: readonly LongList[];
  readonly wholeRules: readonly ConfiguredRule[];
}

const declarations = new WeakMap<Type, Declaration>();

function declared(type: Type): Declaration {
  const declaration = declarations.get(type) ?? readDeclaration(type);
  declarations.set(type, declaration);
  return declaration;
}

function readDeclaration(type: Type): Declaration {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const membersWith = (isMeant: (rule: (typeof rules)[number]) => boolean): Set<string> =>
    new Set(rules.filter(isMeant).map(({ propertyName }) => propertyName));
  return {
    members: membersWith(() => true),
    optional: membersWith(({ name }) => name === 'isOptional'),
    nested: membersWith((rule) => rule.type === ValidationTypes.NESTED_VALIDATION),
    lists: collected(DTO_LISTS, type) as DtoList[],
    longLists: collected(LONG_LISTS, type) as LongList[],
    wholeRules: collected(WHOLE_RULES, type) as ConfiguredRule[],
  };
}

const OPTIONS: ValidatorOptions = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: false,
  validationError: { target: false },
};

/** Makes a DTO from the members that its class declares, and collects all faults of the input. */
export class DtoReader {
  readonly faults: FieldFault[] = [];

  constructor(private readonly configuration: Configuration) {}

  /** Reads a DTO. @param path prefix of the names of members: `query.`, or `policies[3].` in a list */
  read(type: Type, input: object, path: string): object | Promise<object> {
    const { optional, members, wholeRules } = declared(type);
    if (Object.keys(input).length > 0 || optional.size < members.size) return this.readMembers(type, input, path);
    // Most requests have no query: validating nothing would take as long as reading a record.
    for (const rule of wholeRules) this.noteWhole(rule({}, this.configuration), path);
    return new type() as object;
  }

  private async readMembers(type: Type, input: object, path: string): Promise<object> {
    const { optional, members, nested, lists, longLists, wholeRules } = declared(type);
    this.noteUnknown(input, members, path);
    const plain: Record<string, unknown> = {};
    const contents: Record<string, unknown> = {};
    for (const name of members) {
      const value = Object.hasOwn(input, name) ? (input as Readonly<Record<string, unknown>>)[name] : undefined;
      if (value === undefined || (value === null && optional.has(name))) continue;
      // class-transformer would copy lists and objects, which takes quadratic time, and drop keys such as
      // `constructor`.
      const isContent = typeof value === 'object' && value !== null && !nested.has(name);
      (isContent ? contents : plain)[name] = value;
    }
    const memberValues = { ...plain, ...contents };
    for (const rule of wholeRules) this.noteWhole(rule(memberValues, this.configuration), path);
    for (const { member, item, maxItems } of lists) {
      const items = contents[member];
      if (!Array.isArray(items) || items.length > maxItems) continue;
      contents[member] = await this.readItems(item, items as readonly unknown[], `${path}${member}`);
    }
    const dto = Object.assign(plainToInstance(type, plain), contents) as object;
    for (const error of await validate(dto, OPTIONS)) this.note(error, `${path}${error.property}`);
    for (const { member, shape } of longLists) await this.noteItems(shape, contents[member], `${path}${member}`);
    return dto;
  }

  private async readItems(type: Type, items: readonly unknown[], path: string): Promise<object[]> {
    const read: object[] = [];
    for await (const [index, item] of yieldBetween(items.entries())) {
      if (this.faults.length >= MOST_FAULTS) break;
      if (isObject(item)) read.push(await this.readMembers(type, item, `${path}[${index}].`));
      else this.faults.push({ field: `${path}[${index}]`, message: 'must be an object' });
    }
    return read;
  }

  private async noteItems({ lengthRule, itemRule }: ListShape, items: unknown, path: string): Promise<void> {
    if (!Array.isArray(items) || lengthRule(items) !== undefined) return;
    const slice = new TimeSlice();
    for (const [index, item] of (items as readonly unknown[]).entries()) {
      if (slice.isOver) await slice.next();
      if (this.faults.length >= MOST_FAULTS) break;
      this.noteFaults(faultsAt(`${path}[${index}]`, itemRule, item));
    }
  }

  private noteFaults(faults: readonly FaultInside[]): void {
    for (const { at, message } of faults) this.faults.push({ field: at, message });
  }

  private noteUnknown(input: object, members: ReadonlySet<string>, path: string): void {
    const unknown = Object.keys(input).filter((name) => !members.has(name));
    if (unknown.length === 0) return;
    const message = `is not known here; known are ${[...members].join(', ')}`;
    for (const name of unknown.slice(0, MOST_FAULTS))
      this.faults.push({ field: `${path}${printableKey(name)}`, message });
  }

  /** Notes faults of a whole request. Rules for a whole query already name its fields in full. */
  private noteWhole(faults: readonly FieldFault[], path: string): void {
    for (const { field, message } of faults)
      this.faults.push({ field: path === 'query.' ? field : `${path}${field}`, message });
  }

  private note({ property, value, constraints, contexts, children }: ValidationError, field: string): void {
    for (const [name, message] of Object.entries(constraints ?? {})) {
      const { rule } = (contexts?.[name] ?? {}) as { readonly rule?: MemberRule };
      // class-validator begins the messages of its own rules with the member's name, which the field already says.
      const own = message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
      this.noteFaults(faultsAt(field, rule ?? (() => own), value));
    }
    for (const child of children ?? []) {
      const { property: step } = child;
      this.note(child, /^\d+$/.test(step) ? `${field}[${step}]` : `${field}.${step}`);
    }
  }
}
