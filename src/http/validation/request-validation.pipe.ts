import { type ArgumentMetadata, Injectable, type PipeTransform, type Type, ValidationPipe } from '@nestjs/common';
import type { ValidationError, ValidatorOptions } from 'class-validator';
import { type FieldFault, FaultList } from '../../errors/domain-error';
import type { JsonObject } from '../../json/json-value';
import { prepareCanonicalJson } from '../../ledger/chain/canonical-json';
import { Slices } from '../../shared/slices';
import { isLonger } from '../answers/text-length';
import { type DtoShape, dtoShape, knownMembers, liftContent, putBackContent, unknownMembers } from './dto-shape';
import { settle } from './input-check';
import { fieldFaults } from './validation-faults';

/** Characters of JSON above which other requests get a turn between steps. */
const LARGE = 16 * 1024;

/** How the fields of each part are named in the details of an error. */
const FIELD_PREFIX: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: '',
  query: 'query.',
  param: 'path.',
  custom: '',
};

type Members = Readonly<Record<string, unknown>>;
type DtoMetadata = ArgumentMetadata & { readonly metatype: Type };

interface Inspected {
  /** Undefined if it cannot be created. */
  readonly dto: object | undefined;
  readonly faults: readonly FieldFault[];
}

interface InspectedLists {
  readonly items: Readonly<Record<string, readonly object[]>>;
  readonly faults: readonly FieldFault[];
}

const NO_LISTS: InspectedLists = { items: {}, faults: [] };

/** What class-validator found, on its way to the faults of the request. */
class InvalidDto extends Error {
  constructor(readonly errors: readonly ValidationError[]) {
    super('The DTO is invalid.');
  }
}

/** Types whose values Nest's pipe does not validate either. */
const NOT_DTOS: ReadonlySet<unknown> = new Set([String, Boolean, Number, Array, Object, Buffer, Date]);

/** Nest's pipe; in between it gives lists and objects back to the DTO, whose validation needs to see them. */
class DtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      exceptionFactory: (errors) => new InvalidDto(errors),
    });
  }

  protected override validate(dto: object, options?: ValidatorOptions): Promise<ValidationError[]> | ValidationError[] {
    putBackContent(dto, dtoShape(dto.constructor as new () => object));
    return super.validate(dto, options);
  }
}

/**
 * Nest's validation with three differences: lists and objects pass untouched (the original deletes `constructor` and
 * `prototype` from them), `null` on an optional member counts as absent, and an unknown member is a fault whatever its
 * name and value. All faults of a request are reported at once, with their paths. What needs no validation passes
 * without a promise: every parameter of every handler comes here.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  private readonly dtos = new DtoPipe();

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
    settle(value, wholeFaults(given, shape, FIELD_PREFIX[type]));
    return new metatype();
  }

  private async validated(
    given: Members,
    value: unknown,
    shape: DtoShape,
    metadata: DtoMetadata,
  ): Promise<object | undefined> {
    const { dto, faults } = await this.inspected(given, shape, metadata, FIELD_PREFIX[metadata.type]);
    settle(value, faults);
    const large = largeMembers(given, shape);
    if (large.length > 0) await prepare(large);
    return dto;
  }

  /** The DTO made from the members, or what is wrong with them. */
  private async inspected(given: Members, shape: DtoShape, metadata: DtoMetadata, prefix: string): Promise<Inspected> {
    const known = knownMembers(given, shape);
    const faults = [...unknownMembers(given, shape, prefix), ...wholeFaults(known, shape, prefix)];
    const lists = shape.lists.size === 0 ? NO_LISTS : await this.inspectedLists(known, shape, prefix);
    try {
      const dto = (await this.dtos.transform(liftContent(known, shape), metadata)) as object;
      return { dto: Object.assign(dto, lists.items), faults: [...faults, ...lists.faults] };
    } catch (error) {
      if (!(error instanceof InvalidDto)) throw error;
      return { dto: undefined, faults: [...faults, ...fieldFaults(error.errors, prefix), ...lists.faults] };
    }
  }

  private async inspectedLists(known: Members, { lists }: DtoShape, prefix: string): Promise<InspectedLists> {
    const slices = new Slices();
    const faults = new FaultList();
    const items: Record<string, object[]> = {};
    for (const [member, metatype] of lists) {
      const list = known[member];
      if (!Array.isArray(list)) continue;
      const made: object[] = [];
      for (const [index, item] of (list as readonly unknown[]).entries()) {
        const inspected = await this.inspectedItem(item, metatype, `${prefix}${member}[${index}]`);
        inspected.faults.forEach((fault) => faults.add(fault));
        if (faults.isFull) break;
        if (inspected.dto !== undefined) made.push(inspected.dto);
        await slices.next();
      }
      items[member] = made;
    }
    return { items, faults: faults.faults };
  }

  private async inspectedItem(item: unknown, metatype: Type, field: string): Promise<Inspected> {
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      return { dto: undefined, faults: [{ field, message: 'must be an object' }] };
    return this.inspected(item as Members, dtoShape(metatype), { type: 'body', metatype }, `${field}.`);
  }
}

/** Rules for a whole query name its fields in full. */
function wholeFaults(known: Members, { wholeRules }: DtoShape, prefix: string): FieldFault[] {
  const found = wholeRules.flatMap((rule) => rule(known));
  return prefix === FIELD_PREFIX.query ? found : found.map((fault) => ({ ...fault, field: `${prefix}${fault.field}` }));
}

/** Most requests have no query: validating nothing would take as long as reading a record. */
function isNothingToCheck(given: object, { members, optional }: DtoShape): boolean {
  return optional.size === members.size && Object.keys(given).length === 0;
}

/** The large values of a request that are stored. */
function largeMembers(given: Members, { members, notStored }: DtoShape): JsonObject[] {
  const large: JsonObject[] = [];
  for (const name of members) {
    const member = Object.hasOwn(given, name) ? given[name] : undefined;
    if (isObject(member) && !notStored.has(name) && isLonger(member, LARGE)) large.push(member as JsonObject);
  }
  return large;
}

/** Prepares the text of large values in chunks: later it is written, hashed and returned in one go. */
async function prepare(large: readonly JsonObject[]): Promise<void> {
  // Looking at the names of a hundred thousand members has used up a slice.
  const slices = await Slices.inTurn();
  for (const member of large) {
    await prepareCanonicalJson(member, slices);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
