import type { InclusionProof } from '../../api/types.js';
import { bytes, hex } from './hex.js';

/** One step from an entry to the root of the tree. */
export interface Step {
  /** What the entry's side hashes to, in hex. */
  readonly own: string;
  /** The hash it is joined with, in hex. */
  readonly sibling: string;
  readonly siblingIs: 'left' | 'right';
}

export interface CheckedProof {
  readonly leaf: string;
  readonly steps: readonly Step[];
  readonly root: string;
  /** Whether the entry's hash is the leaf, and the path ends at the root. */
  readonly holds: boolean;
}

/** Recomputes the path of RFC 6962, section 2.1.1, from an entry's hash to the root. */
export async function checkInclusion(entryHash: string, proof: InclusionProof): Promise<CheckedProof> {
  const leaf = await digest(0, bytes(entryHash));
  const steps: Step[] = [];
  let own = leaf;
  // As in RFC 9162, section 2.1.3.2.
  let [place, last] = [proof.sequence - 1, proof.size - 1];
  for (const sibling of proof.hashes) {
    if (last === 0) return { leaf, steps, root: own, holds: false };
    const isRight = place % 2 === 1 || place === last;
    steps.push({ own, sibling, siblingIs: isRight ? 'left' : 'right' });
    own = isRight ? await digest(1, bytes(sibling), bytes(own)) : await digest(1, bytes(own), bytes(sibling));
    if (isRight) {
      while (place % 2 === 0 && place !== 0) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  const holds = last === 0 && leaf === proof.leafHash && own === proof.rootHash;
  return { leaf, steps, root: own, holds };
}

async function digest(prefix: number, ...parts: readonly Uint8Array[]): Promise<string> {
  const text = Uint8Array.from([prefix, ...parts.flatMap((part) => [...part])]);
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', text)));
}
