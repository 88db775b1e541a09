import { bytesOfHex } from '../../../../verifier/bytes.mjs';
import { sha256Hex } from '../../../../verifier/primitives.mjs';
import type { InclusionProof } from '../../api/types.js';

/** One step from an entry to the root of the tree. */
export interface Step {
  /** The hash on the entry's side, in hex. */
  readonly own: string;
  /** The hash with which the hash on the entry's side is combined, in hex. */
  readonly sibling: string;
  readonly siblingIs: 'left' | 'right';
}

export interface CheckedProof {
  readonly leaf: string;
  readonly steps: readonly Step[];
  readonly root: string;
  /** True if the entry's hash is the leaf, and the path ends at the expected root. */
  readonly holds: boolean;
}

/** The place and the root for which a proof is needed, whatever the proof itself says. */
export interface ExpectedLeaf {
  readonly sequence: number;
  readonly size: number;
  readonly rootHash: string;
}

/** Recomputes the path of RFC 6962, section 2.1.1, from an entry's hash to the root. */
export function checkInclusion(
  entryHash: string,
  { hashes, leafHash }: InclusionProof,
  { sequence, size, rootHash }: ExpectedLeaf,
): CheckedProof {
  const leaf = digest(0, entryHash);
  const steps: Step[] = [];
  let own = leaf;
  // As in RFC 9162, section 2.1.3.2.
  let [place, last] = [sequence - 1, size - 1];
  for (const sibling of hashes) {
    if (last === 0) return { leaf, steps, root: own, holds: false };
    const isRight = place % 2 === 1 || place === last;
    steps.push({ own, sibling, siblingIs: isRight ? 'left' : 'right' });
    own = isRight ? digest(1, sibling, own) : digest(1, own, sibling);
    if (isRight) {
      while (place % 2 === 0 && place !== 0) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  const holds = last === 0 && leaf === leafHash && own === rootHash;
  return { leaf, steps, root: own, holds };
}

function digest(prefix: number, ...parts: readonly string[]): string {
  return sha256Hex(Uint8Array.from([prefix, ...parts.flatMap((part) => [...bytesOfHex(part)])]));
}
