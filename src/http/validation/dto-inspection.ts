import { type ArgumentMetadata, type Type, ValidationPipe } from '@nestjs/common';
import type { ValidationError, ValidatorOptions } from 'class-validator';
import type { Configuration } from '../../core/config/configuration';
import { type FieldFault, FaultList } from '../../core/errors/domain-error';
import { shownKey } from '../body/json-scanner';
import { type DtoShape, dtoShape } from './dto-shape';
import { faultsIn } from './member-rule';

/** How the fields of each part are named in the details of an error. */
export const FIELD_PREFIX: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: '',
  query: 'query.',
  param: 'path.',
  custom: '',
};

export type Members = Readonly<Record<string, unknown>>;
export type DtoMetadata = ArgumentMetadata & { readonly metatype: Type };

export interface Inspected {
  /** Undefined if it cannot be created. */
  readonly dto: object | undefined;
  readonly faults: readonly FieldFault[];
}

interface InspectedLists {
  readonly items: Readonly<Record<string, readonly object[]>>;
  readonly faults: readonly FieldFault[];
}

const NO_LISTS: InspectedLists = { items: {}, faults: [] };

/** Carries a value past class-transformer and Nest's own clean-up, neither of which looks into functions. */
type Lifted = () => unknown;

/** What class-validator found, on its way to the faults of the request. */
class InvalidDto extends Error {
  constructor(readonly errors: readonly ValidationError[]) {
    super('The DTO is invalid.');
  }
}

/** Nest's pipe; in between it gives lists and objects back to the DTO, whose validation needs to see them. */
class DtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      validationError: { target: false, value: false },
      exceptionFactory: (errors) => new InvalidDto(errors),
    });
  }

  protected override validate(dto: object, options?: ValidatorOptions): Promise<ValidationError[]> | ValidationError[] {
    putBackContent(dto);
    return super.validate(dto, options);
  }
}

/** Makes DTOs from the members of a request, and collects what is wrong with them. */
export class DtoInspection {
  private readonly dtos = new DtoPipe();

  constructor(private readonly configuration: Configuration) {}

  /** The DTO made from the members, or what is wrong with them. */
  async inspected(given: Members, shape: DtoShape, metadata: DtoMetadata, prefix: string): Promise<Inspected> {
    const known = knownMembers(given, shape);
    const faults = [...unknownMembers(given, shape, prefix), ...this.wholeFaults(known, shape, prefix)];
    const lists = shape.lists.size === 0 ? NO_LISTS : await this.inspectedLists(known, shape, prefix);
    try {
      const dto = (await this.dtos.transform(liftContent(known, shape), metadata)) as object;
      return { dto: Object.assign(dto, lists.items), faults: [...faults, ...lists.faults] };
    } catch (error) {
      if (!(error instanceof InvalidDto)) throw error;
      return { dto: undefined, faults: [...faults, ...fieldFaults(error.errors, prefix), ...lists.faults] };
    }
  }

  /** Rules for a whole query name its fields in full. */
  wholeFaults(known: Members, { wholeRules }: DtoShape, prefix: string): FieldFault[] {
    const found = wholeRules.flatMap((rule) => rule(known, this.configuration));
    return prefix === FIELD_PREFIX.query
      ? found
      : found.map((fault) => ({ ...fault, field: `${prefix}${fault.field}` }));
  }

  private async inspectedLists(known: Members, { lists }: DtoShape, prefix: string): Promise<InspectedLists> {
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

/** The members a DTO declares; `null` on an optional one counts as absent. */
function knownMembers(given: Members, shape: DtoShape): Record<string, unknown> {
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
function unknownMembers(given: Members, shape: DtoShape, prefix: string): readonly FieldFault[] {
  const unknown = Object.keys(given).filter((name) => !shape.members.has(name));
  return unknown.length === 0 ? [] : FaultList.of(unknownFaults(unknown, shape, prefix)).faults;
}

function* unknownFaults(unknown: readonly string[], { members }: DtoShape, prefix: string): Generator<FieldFault> {
  const message = `is not known here; known are ${[...members].join(', ')}`;
  for (const name of unknown) yield { field: `${prefix}${shownKey(name)}`, message };
}

/**
 * Wraps lists and objects, so that class-transformer neither changes them, as it does keys such as `constructor`, nor
 * copies them: copying an object takes time quadratic in its keys, up to ten seconds for one body.
 */
function liftContent(members: Members, shape: DtoShape): Record<string, unknown> {
  const lifted = { ...members };
  for (const [name, value] of Object.entries(members)) {
    if (typeof value !== 'object' || value === null || shape.nested.has(name)) continue;
    lifted[name] = (() => value) satisfies Lifted;
  }
  return lifted;
}

/** Undoes `liftContent` on the DTO made from the members. */
function putBackContent(dto: object): void {
  const members = dto as Record<string, unknown>;
  for (const [name, value] of Object.entries(members)) {
    // JSON has no functions, so this one is ours.
    if (typeof value === 'function') members[name] = (value as Lifted)();
  }
}

/** Converts class-validator's errors to faults; `prefix` goes before each field. */
function fieldFaults(errors: readonly ValidationError[], prefix: string): FieldFault[] {
  return errors.flatMap((error) => faultsOf(error, `${prefix}${error.property}`));
}

function faultsOf(error: ValidationError, field: string): FieldFault[] {
  const own = Object.values(error.constraints ?? {}).flatMap(
    (message) => faultsIn(message, field) ?? [{ field, message: plain(message, error.property) }],
  );
  const inside = (error.children ?? []).flatMap((child) => faultsOf(child, `${field}${step(child.property)}`));
  return [...own, ...inside];
}

/** class-validator begins its messages with the member's name, which the field already says. */
function plain(message: string, property: string): string {
  return message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
}

function step(property: string): string {
  return /^\d+$/.test(property) ? `[${property}]` : `.${property}`;
}
