import type { Name } from './name';

/** Names that a policy lists; null stands for every name. */
export type Names = readonly Name[] | null;

/** The bit of "every name", which no name has. */
const EVERY = 1 << 31;

/** Bits of what a policy lists. Without one in common with the {@link bitsAsked} there is no name in common. */
export function bitsOf(names: Names): number {
  if (names === null) return EVERY;
  let bits = 0;
  for (const name of names) bits |= name.bit;
  return bits;
}

/** Bits of what a request names. */
export function bitsAsked(names: readonly Name[]): number {
  return EVERY | bitsOf(names);
}

export function haveCommonName(names: Names, asked: readonly Name[]): boolean {
  if (names === null) return true;
  for (const name of names) {
    for (const other of asked) if (name === other) return true;
  }
  return false;
}
