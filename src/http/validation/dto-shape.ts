import type { Type } from '@nestjs/common';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { type FieldFault, FaultList } from '../../errors/domain-error';
import { shownKey } from '../body/json-path';

const WHOLE_RULES = 'http:whole-rules';
const LISTED_DTOS = 'http:listed-dtos';
const NOT_STORED = 'http:not-stored';
const IS_OPTIONAL = 'isOptional';
const IS_DTO = ValidationTypes.NESTED_VALIDATION;

type Members = Readonly<Record<string, unknown>>;

/** Carries a value past class-transformer and Nest's own clean-up, neither of which looks into functions. */
type Lifted = () => unknown;

/** What is wrong with a request as a whole, judged by the members it has; `null` members have been removed. */
export type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

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
  readonly wholeRules: readonly WholeRule[];
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
    wholeRules: collected(WHOLE_RULES, type) as WholeRule[],
  };
}

/** Appends to a list kept on a class, in addition to the lists of the classes it extends. */
function append(key: string, type: object, value: unknown): void {
  Reflect.defineMetadata(key, [...collected(key, type), value], type);
}

function collected(key: string, type: object): readonly unknown[] {
  return (Reflect.getMetadata(key, type) as readonly unknown[] | undefined) ?? [];
}

/** The members a DTO declares; `null` on an optional one counts as absent. */
export function knownMembers(given: Members, shape: DtoShape): Record<string, unknown> {
  const known: Record<string, unknown> = {};
  // Loops over the DTO's members: the request may have a hundred thousand.
  for (const name of shape.members) {
    if (!Object.hasOwn(given, name)) continue;
    const value = given[name];
    if (value !== null || !shape.optional.has(name)) known[name] = value;
  }
  return known;
}

/** As many as are reported. */
export function unknownMembers(given: Members, shape: DtoShape, prefix: string): readonly FieldFault[] {
  const unknown = Object.keys(given).filter((name) => !shape.members.has(name));
  return unknown.length === 0 ? [] : FaultList.of(faultsOf(unknown, shape, prefix)).faults;
}

function* faultsOf(unknown: readonly string[], { members }: DtoShape, prefix: string): Generator<FieldFault> {
  const message = `is not known here; known are ${[...members].join(', ')}`;
  for (const name of unknown) yield { field: `${prefix}${shownKey(name)}`, message };
}

/**
 * Wraps lists and objects, so that class-transformer neither changes them, as it does keys such as `constructor`, nor
 * copies them: copying an object takes time quadratic in its keys, up to ten seconds for one body.
 */
export function liftContent(members: Members, shape: DtoShape): Record<string, unknown> {
  const lifted = { ...members };
  for (const [name, value] of Object.entries(members)) {
    if (typeof value !== 'object' || value === null || shape.nested.has(name)) continue;
    lifted[name] = (() => value) satisfies Lifted;
  }
  return lifted;
}

/** Undoes `liftContent` on the DTO made from the members. */
export function putBackContent(dto: object, shape: DtoShape): void {
  const members = dto as Record<string, unknown>;
  for (const name of shape.members) {
    const value = members[name];
    // JSON has no functions, so this one is ours.
    if (typeof value === 'function') {
      members[name] = (value as Lifted)();
    }
  }
}
