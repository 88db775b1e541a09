import { sha256 } from '../primitives.mjs';

/**
 * Computes the root to which the audit path of a leaf leads: RFC 9162, section 2.1.3.2. The leaf is hashed by RFC 6962.
 * @param {Uint8Array} leaf
 * @param {number} index from 0
 * @param {number} size of the tree
 * @param {readonly Uint8Array[]} path
 * @returns {Uint8Array | undefined} undefined where the path is not one of this leaf in a tree of this size
 */
export function rootOf(leaf, index, size, path) {
  if (index < 0 || index >= size) return undefined;
  let [place, last, hash] = [index, size - 1, prefixedHash(0, leaf)];
  for (const sibling of path) {
    if (last === 0) return undefined;
    const isRight = place % 2 === 1 || place === last;
    hash = isRight ? prefixedHash(1, sibling, hash) : prefixedHash(1, hash, sibling);
    // The last subtree of a level may stand alone on the levels above it.
    while (isRight && place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 ? hash : undefined;
}

/**
 * @param {number} prefix
 * @param {readonly Uint8Array[]} parts
 */
function prefixedHash(prefix, ...parts) {
  return sha256(Uint8Array.from([prefix, ...parts.flatMap((part) => [...part])]));
}
