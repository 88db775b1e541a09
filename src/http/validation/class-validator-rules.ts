import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync, type ValidatorOptions } from 'class-validator';
import type { FieldFault } from '../../core/errors/domain-error';

/** Rules that a class of a module has by decorators of class-validator and class-transformer. */
export interface ForeignRules {
  readonly members: readonly string[];
  readonly transform: (dto: object) => object;
  readonly faultsOf: (dto: object, path: string) => FieldFault[];
}

const OPTIONS: ValidatorOptions = { forbidUnknownValues: false, validationError: { target: false } };

/** Null if a class has none. */
export function rulesOf(type: Type): ForeignRules | null {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  if (rules.length === 0) return null;
  return {
    members: rules.map(({ propertyName }) => propertyName),
    transform: (dto) => plainToInstance(type, dto) as object,
    faultsOf: (dto, path) => validateSync(dto, OPTIONS).flatMap((error) => faultsIn(error, `${path}${error.property}`)),
  };
}

/** The messages begin with the name of the member, which the field already says. */
function faultsIn({ property, constraints = {}, children = [] }: ValidationError, field: string): FieldFault[] {
  const own = Object.values(constraints).map((text) =>
    text.startsWith(`${property} `) ? text.slice(property.length + 1) : text,
  );
  const inside = children.flatMap((child) => {
    const { property: step } = child;
    return faultsIn(child, /^\d+$/.test(step) ? `${field}[${step}]` : `${field}.${step}`);
  });
  return [...own.map((message) => ({ field, message })), ...inside];
}
