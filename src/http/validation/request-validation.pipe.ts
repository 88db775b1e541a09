import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { type FieldFault, invalid } from '../../core/errors/domain-error';
import { DtoInspection, type DtoMetadata, FIELD_PREFIX, type Members } from './dto-inspection';
import { type DtoShape, dtoShape } from './dto-shape';

/** Types whose values Nest's pipe does not validate either. */
const NOT_DTOS: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, Buffer, Date]);

/**
 * Nest's validation with three differences: lists and objects pass untouched (the original deletes `constructor` and
 * `prototype` from them), `null` on an optional member counts as absent, and an unknown member is a fault whatever its
 * name and value. All faults of a request are reported at once, with their paths. What needs no validation passes
 * without a promise: every parameter of every handler comes here.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  private readonly inspection: DtoInspection;

  constructor(configuration: Configuration) {
    this.inspection = new DtoInspection(configuration);
  }

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { metatype, type } = metadata;
    if (type === 'custom') return value;
    if (metatype === undefined || NOT_DTOS.has(metatype)) {
      settle(value, []);
      return value;
    }
    const given = (value ?? {}) as Members;
    const shape = dtoShape(metatype);
    if (type !== 'query' || !isNothingToCheck(given, shape)) {
      return this.validated(given, value, shape, { ...metadata, metatype });
    }
    settle(value, this.inspection.wholeFaults(given, shape, FIELD_PREFIX[type]));
    return new metatype();
  }

  private async validated(
    given: Members,
    value: unknown,
    shape: DtoShape,
    metadata: DtoMetadata,
  ): Promise<object | undefined> {
    const { dto, faults } = await this.inspection.inspected(given, shape, metadata, FIELD_PREFIX[metadata.type]);
    settle(value, faults);
    return dto;
  }
}

/** Most requests have no query: validating nothing would take as long as reading a record. */
function isNothingToCheck(given: object, { members, optional }: DtoShape): boolean {
  return optional.size === members.size && Object.keys(given).length === 0;
}

/**
 * Collects the faults of one request, whose query and body are validated one after the other, so that all are reported
 * at once by the part validated last.
 */
export class InputCheck {
  private readonly faults: FieldFault[];
  /** Members already known to be faulty are not reported again, for example as missing. */
  private readonly blamed: ReadonlySet<string>;

  /** @param partsToCome the parts that a pipe has yet to validate. */
  constructor(
    faults: readonly FieldFault[],
    private partsToCome: number,
  ) {
    this.faults = [...faults];
    this.blamed = new Set(faults.map(({ field }) => field));
  }

  /** Throws VALIDATION_ERROR if nothing is left to validate and a fault was found. */
  settle(faultsOfPart: readonly FieldFault[]): void {
    for (const fault of faultsOfPart) if (!this.blamed.has(fault.field)) this.faults.push(fault);
    this.partsToCome -= 1;
    if (this.partsToCome <= 0 && this.faults.length > 0) {
      throw invalid(this.faults);
    }
  }
}

/** By part and not on the request, which Nest does not give to a pipe of all routes. */
const checks = new WeakMap<object, InputCheck>();

/** Makes the pipe settle with `check` when it validates `part`. */
export function checkTogether(part: object, check: InputCheck): void {
  checks.set(part, check);
}

/** Throws the faults found, unless another part of the request has yet to be validated and reports both. */
function settle(part: unknown, faults: readonly FieldFault[]): void {
  const check = typeof part === 'object' && part !== null ? checks.get(part) : undefined;
  if (check !== undefined) check.settle(faults);
  else if (faults.length > 0) throw invalid(faults);
}
