import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { FaultList, type FieldFault, invalid } from '../../core/errors/domain-error';
import { DtoReader } from './dto';

/** How the fields of each part are named in the details of an error. */
const PATHS: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: '',
  query: 'query.',
  param: 'path.',
  custom: '',
};

/** Types whose values Nest's pipe does not validate either. */
const NOT_DTOS: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, Buffer, Date]);

/**
 * Makes a DTO of each part of a request that a handler takes, by the rules of class-validator. Unlike with Nest's own
 * pipe, lists and objects pass untouched, `null` on an optional member counts as absent, and an unknown member is a
 * fault whatever its name and value. All faults of a request are reported at once, with their paths.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  constructor(private readonly configuration: Configuration) {}

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom') return value;
    if (metatype !== undefined && !NOT_DTOS.has(metatype)) return this.validated(metatype, value ?? {}, PATHS[type]);
    settle(value, []);
    return value;
  }

  private validated(type: Type, part: object, path: string): object | Promise<object> {
    const reader = new DtoReader(this.configuration);
    const settled = (dto: object): object => {
      settle(part, reader.faults);
      return dto;
    };
    const read = reader.read(type, part, path);
    return read instanceof Promise ? read.then(settled) : settled(read);
  }
}

/** The faults of a request whose query and body are validated one after the other. */
interface InputCheck {
  readonly found: FieldFault[];
  /** Parts that the pipe has yet to validate. */
  partsToCome: number;
}

/** By part and not on the request, which Nest does not give to a pipe of all routes. */
const checks = new WeakMap<WeakKey, InputCheck>();

/**
 * Has the pipe report the faults found so far together with those of the parts that it validates, when it validates the
 * last of them. Throws VALIDATION_ERROR if there is none, or if no further faults would be reported.
 */
export function reportTogether(found: FieldFault[], parts: readonly object[]): void {
  if (found.length > 0 && (parts.length === 0 || FaultList.of(found).isFull)) throw invalid(found);
  const check: InputCheck = { found, partsToCome: parts.length };
  for (const part of parts) checks.set(part, check);
}

function settle(part: unknown, faults: readonly FieldFault[]): void {
  const together = checks.get(part as WeakKey);
  if (together === undefined && faults.length === 0) return;
  const check = together ?? { found: [], partsToCome: 1 };
  // What is known to be faulty is not reported again, for example as missing.
  const blamed = new Set(check.found.map(({ field }) => field));
  for (const fault of faults) if (!blamed.has(fault.field)) check.found.push(fault);
  check.partsToCome -= 1;
  if (check.partsToCome === 0 && check.found.length > 0) throw invalid(check.found);
}
