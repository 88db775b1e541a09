import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import type { FieldFault } from '../../errors/domain-error';

const FREE_FORM = 'http:free-form-members';
const WHOLE_RULES = 'http:whole-rules';
const IS_OPTIONAL = 'isOptional';

/** What is wrong with a request as a whole, judged by the members it has; `null` members are absent already. */
export type WholeRule = (members: Readonly<Record<string, unknown>>) => readonly FieldFault[];

/** What a DTO class declares, read from its decorators once. */
export interface DtoShape {
  readonly members: ReadonlySet<string>;
  readonly optional: ReadonlySet<string>;
  /** Members that pass through validation untouched. */
  readonly freeForm: ReadonlySet<string>;
  readonly wholeRules: readonly WholeRule[];
}

const shapes = new WeakMap<Type, DtoShape>();

/** Marks a member whose content is the client's own. */
export function FreeForm(): PropertyDecorator {
  return (target, property) => append(FREE_FORM, target.constructor, String(property));
}

/** Judges a request by the members it has together. */
export function WholeRequest(rule: WholeRule): ClassDecorator {
  return (target) => append(WHOLE_RULES, target, rule);
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
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const optional = rules.filter(({ name }) => name === IS_OPTIONAL);
  return {
    members: new Set(rules.map(({ propertyName }) => propertyName)),
    optional: new Set(optional.map(({ propertyName }) => propertyName)),
    freeForm: new Set(collected(FREE_FORM, type) as string[]),
    wholeRules: collected(WHOLE_RULES, type) as WholeRule[],
  };
}

/** Adds to a list kept on a class, beside what the classes it extends keep. */
function append(key: string, type: object, value: unknown): void {
  Reflect.defineMetadata(key, [...collected(key, type), value], type);
}

function collected(key: string, type: object): readonly unknown[] {
  return (Reflect.getMetadata(key, type) as readonly unknown[] | undefined) ?? [];
}
