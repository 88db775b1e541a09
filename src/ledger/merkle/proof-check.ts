import { descent, inclusionRanges, type LeafRange } from './proof-ranges';
import { isTreeHash, nodeHash, type TreeHash } from './tree';

export interface TreeHead {
  readonly size: number;
  readonly rootHash: TreeHash;
}

/** True if the hashes lead from the leaf to the root. @param index index from 0 */
export function isIncluded(index: number, leaf: TreeHash, tree: TreeHead, hashes: readonly TreeHash[]): boolean {
  if (![index, tree.size].every(Number.isSafeInteger) || index < 0 || index >= tree.size) return false;
  return joined(leaf, index, inclusionRanges(index, tree.size), hashes) === tree.rootHash;
}

/** True when the hashes show that one non-empty tree extends another. */
export function isConsistent(earlier: TreeHead, later: TreeHead, hashes: readonly TreeHash[]): boolean {
  if (![earlier.size, later.size].every(Number.isSafeInteger) || earlier.size < 1 || earlier.size > later.size)
    return false;
  if (earlier.size === later.size) return hashes.length === 0 && earlier.rootHash === later.rootHash;
  const { leaf, passed } = descent(earlier.size - 1, later.size, ({ end }) => end === earlier.size);
  const { begin } = leaf;
  const [first = '', ...others] = begin === 0 ? [earlier.rootHash, ...hashes] : hashes;
  // Only subtrees to the left of the earlier tree's last subtree are part of the earlier tree.
  const isLeft = (_unused: unknown, index: number): boolean => (passed[index]?.begin ?? begin) < begin;
  const earlierRoot = joined(first, begin, passed.filter(isLeft), others.filter(isLeft));
  return earlierRoot === earlier.rootHash && joined(first, begin, passed, others) === later.rootHash;
}

/** Joins the hash of the subtree that begins at a leaf with those of neighbours; null if the hashes do not fit. */
function joined(
  hash: TreeHash,
  begin: number,
  others: readonly LeafRange[],
  hashes: readonly TreeHash[],
): TreeHash | null {
  if (others.length !== hashes.length || ![hash, ...hashes].every(isTreeHash)) return null;
  return hashes.reduce(
    (inner, other, index) => ((others[index]?.begin ?? 0) < begin ? nodeHash(other, inner) : nodeHash(inner, other)),
    hash,
  );
}
