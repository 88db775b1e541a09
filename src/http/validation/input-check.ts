import { type FieldFault, invalid } from '../../errors/domain-error';

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
    this.faults.push(...faultsOfPart.filter(({ field }) => !this.blamed.has(field)));
    this.partsToCome -= 1;
    if (this.partsToCome <= 0 && this.faults.length > 0) {
      throw invalid(this.faults);
    }
  }
}

const checks = new WeakMap<object, InputCheck>();

/** Makes the pipe settle with `check` when it validates `part`. */
export function checkTogether(part: object, check: InputCheck): void {
  checks.set(part, check);
}

/** Throws the faults found, unless another part of the request has yet to be validated and reports both. */
export function settle(part: unknown, faults: readonly FieldFault[]): void {
  const check = typeof part === 'object' && part !== null ? checks.get(part) : undefined;
  if (check !== undefined) check.settle(faults);
  else if (faults.length > 0) throw invalid(faults);
}
