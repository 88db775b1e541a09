import { MOST_FAULTS } from '../../errors/domain-error';
import { isWide, MOST_LISTED } from '../../json/json-builder';
import type { FaultInside } from './member-rule';

export const TOO_MANY_MEMBERS = `must have at most ${MOST_LISTED} members`;

/**
 * The members of an object that the service does not define: as many as are reported, so that none of the many that fit
 * into a body are listed in vain. Far too many are one fault of the object.
 */
export function unknownMembers(given: object, known: readonly string[]): readonly FaultInside[] {
  if (isWide(given)) return [{ at: '', message: TOO_MANY_MEMBERS }];
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return [];
  const message = `is not known here; known are ${known.join(', ')}`;
  return unknown.slice(0, MOST_FAULTS).map((name) => ({ at: `.${name}`, message }));
}
