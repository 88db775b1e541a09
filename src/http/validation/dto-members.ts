import { type FieldFault, FaultList } from '../../errors/domain-error';
import { shownKey } from '../body/json-path';
import type { DtoShape } from './dto-shape';

type Members = Readonly<Record<string, unknown>>;

/** Carries a value past class-transformer and Nest's own clean-up, neither of which looks into functions. */
type Lifted = () => unknown;

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
