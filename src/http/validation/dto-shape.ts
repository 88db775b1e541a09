import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import type { Configuration } from '../../core/config/configuration';
import type { FieldFault } from '../../core/errors/domain-error';

const WHOLE_RULES = 'http:whole-rules';
const LISTED_DTOS = 'http:listed-dtos';
const NOT_STORED = 'http:not-stored';
const IS_OPTIONAL = 'isOptional';
const IS_DTO = ValidationTypes.NESTED_VALIDATION;

/** What is wrong with a request as a whole, judged by the members it has; `null` members have been removed. */
export type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

/** A rule for a request as a whole that depends on settings. */
export type ConfiguredRule = (
  members: Readonly<Record<string, unknown>>,
  configuration: Configuration,
) => readonly FieldFault[];

/** What a DTO class declares, read from its decorators once. */
export interface DtoShape {
  readonly members: ReadonlySet<string>;
  readonly optional: ReadonlySet<string>;
  /** Members that are DTOs themselves: validation descends into no others. */
  readonly nested: ReadonlySet<string>;
  /** Members that are lists of DTOs: {@link ListOf}. */
  readonly lists: ReadonlyMap<string, Type>;
  /** {@link NotStored} */
  readonly notStored: ReadonlySet<string>;
  readonly wholeRules: readonly ConfiguredRule[];
}

/** A member that is a list of DTOs. */
export interface ListedDto {
  readonly member: string;
  readonly item: Type;
}

const shapes = new WeakMap<Type, DtoShape>();
const rules = getMetadataStorage();

/** Validates a request by the combination of its members. */
export function WholeRequest(rule: WholeRule): ClassDecorator {
  return ConfiguredRequest(rule);
}

/** The same by a rule that depends on settings. */
export function ConfiguredRequest(rule: ConfiguredRule): ClassDecorator {
  return (target) => append(WHOLE_RULES, target, rule);
}

/** A member that is neither stored nor returned, so that its canonical text is not needed. */
export function NotStored(): PropertyDecorator {
  return (target, member) => append(NOT_STORED, target.constructor, member);
}

/** Validates each item of a member as a DTO. */
export function listsDto(target: object, listed: ListedDto): void {
  append(LISTED_DTOS, target, listed);
}

export function dtoShape(type: Type): DtoShape {
  let shape = shapes.get(type);
  if (shape === undefined) {
    shape = readShape(type);
    shapes.set(type, shape);
  }
  return shape;
}

function readShape(type: Type): DtoShape {
  const ofType = rules.getTargetValidationMetadatas(type, '', false, false);
  const optional = ofType.filter(({ name }) => name === IS_OPTIONAL);
  const nested = ofType.filter((rule) => rule.type === IS_DTO);
  return {
    members: new Set(ofType.map(({ propertyName }) => propertyName)),
    optional: new Set(optional.map(({ propertyName }) => propertyName)),
    nested: new Set(nested.map(({ propertyName }) => propertyName)),
    lists: new Map((collected(LISTED_DTOS, type) as ListedDto[]).map(({ member, item }) => [member, item])),
    notStored: new Set(collected(NOT_STORED, type) as string[]),
    wholeRules: collected(WHOLE_RULES, type) as ConfiguredRule[],
  };
}

/** Appends to a list kept on a class, in addition to the lists of the classes it extends. */
function append(key: string, type: object, value: unknown): void {
  Reflect.defineMetadata(key, [...collected(key, type), value], type);
}

function collected(key: string, type: object): readonly unknown[] {
  return (Reflect.getMetadata(key, type) as readonly unknown[] | undefined) ?? [];
}
