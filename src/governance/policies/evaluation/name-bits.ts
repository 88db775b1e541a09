/** Number of bits of a set of names, as many as fit in a number for which engines need no object. */
const COUNT = 30;
const EVERY_BIT = 2 ** COUNT - 1;
/** Characters at the end of a name that are hashed, because names mostly differ there. */
const CHARACTERS = 4;

/**
 * Bits for the names in a policy or a request. Without a common bit in each of the three, the policy does not match the
 * request.
 */
export interface NameBits {
  readonly actions: number;
  readonly types: number;
  readonly subjects: number;
}

/** Returns the bits of names; several names may share one. Null stands for every name. */
export function bitsOf(names: Iterable<string> | null): number {
  if (names === null) return EVERY_BIT;
  let bits = 0;
  for (const name of names) bits |= 1 << bitOf(name);
  return bits;
}

function bitOf(name: string): number {
  let hash = name.length;
  for (let index = Math.max(0, name.length - CHARACTERS); index < name.length; index += 1)
    hash = (Math.imul(hash, 31) + name.charCodeAt(index)) & EVERY_BIT;
  return hash % COUNT;
}
