import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import type { ValidationError, ValidatorOptions } from 'class-validator';
import { type FieldFault, invalid } from '../../errors/domain-error';
import { knownMembers, liftFreeForm, putBackFreeForm, unknownMembers } from './dto-members';
import { dtoShape } from './dto-shape';
import { checkOf } from './input-check';
import { fieldFaults } from './validation-faults';

/** How the fields of each part are named in the details of an error. */
const FIELD_PREFIX: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: '',
  query: 'query.',
  param: 'path.',
  custom: '',
};

/** What class-validator found, on its way to the faults of the request. */
class InvalidDto extends Error {
  constructor(readonly errors: readonly ValidationError[]) {
    super('The DTO is invalid.');
  }
}

/**
 * Nest's validation with three differences: free-form members pass untouched (the original deletes `constructor` and
 * `prototype` from them), `null` on an optional member counts as absent, and an unknown member is a fault whatever its
 * name and value. All faults of a request are told at once, with their paths.
 */
@Injectable()
export class RequestValidationPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      exceptionFactory: (errors) => new InvalidDto(errors),
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { metatype } = metadata;
    if (metatype === undefined || !this.toValidate(metadata)) {
      settle(value, []);
      return value;
    }
    const shape = dtoShape(metatype);
    const prefix = FIELD_PREFIX[metadata.type];
    const given = (value ?? {}) as Readonly<Record<string, unknown>>;
    const known = knownMembers(given, shape);
    const faults = [...unknownMembers(given, shape, prefix), ...shape.wholeRules.flatMap((rule) => rule(known))];
    try {
      const dto: unknown = await super.transform(liftFreeForm(known, shape), metadata);
      settle(value, faults);
      return dto;
    } catch (error) {
      if (error instanceof InvalidDto) {
        settle(value, [...faults, ...fieldFaults(error.errors, prefix)]);
        return undefined;
      }
      throw error;
    }
  }

  /** Runs between the making of the DTO and its validation, which is to see the free-form members. */
  protected override validate(dto: object, options?: ValidatorOptions): Promise<ValidationError[]> | ValidationError[] {
    putBackFreeForm(dto, dtoShape(dto.constructor as new () => object));
    return super.validate(dto, options);
  }
}

/** Throws what was found, unless another part of the request is still to be validated and speaks for both. */
function settle(part: unknown, faults: readonly FieldFault[]): void {
  const check = checkOf(part);
  if (check !== undefined) {
    check.settle(faults);
  } else if (faults.length > 0) {
    throw invalid(faults);
  }
}
