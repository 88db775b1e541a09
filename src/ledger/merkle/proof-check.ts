import { isTreeHash, nodeHash, type TreeHash } from './tree';

export interface TreeHead {
  readonly size: number;
  readonly rootHash: TreeHash;
}

/**
 * True when the hashes lead from the leaf to the root: RFC 9162, section 2.1.3.2.
 * @param index counted from 0.
 */
export function isIncluded(index: number, leaf: TreeHash, tree: TreeHead, hashes: readonly TreeHash[]): boolean {
  if (!areSizes(index, tree.size) || index >= tree.size || ![leaf, ...hashes].every(isTreeHash)) return false;
  let [node, last, root] = [index, tree.size - 1, leaf];
  for (const hash of hashes) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      root = nodeHash(hash, root);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      root = nodeHash(root, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && root === tree.rootHash;
}

/** True when the hashes show that one non-empty tree extends another: RFC 9162, section 2.1.4.2. */
export function isConsistent(earlier: TreeHead, later: TreeHead, hashes: readonly TreeHash[]): boolean {
  const isOrdered = areSizes(earlier.size, later.size) && earlier.size > 0 && earlier.size <= later.size;
  if (!isOrdered) return false;
  if (earlier.size === later.size) return hashes.length === 0 && earlier.rootHash === later.rootHash;
  const path = isPowerOfTwo(earlier.size) ? [earlier.rootHash, ...hashes] : hashes;
  const [first, ...others] = path;
  if (first === undefined || hashes.length === 0 || !path.every(isTreeHash)) return false;
  let [node, last] = [earlier.size - 1, later.size - 1];
  while (node % 2 === 1) [node, last] = [half(node), half(last)];
  let [earlierRoot, laterRoot] = [first, first];
  for (const hash of others) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      earlierRoot = nodeHash(hash, earlierRoot);
      laterRoot = nodeHash(hash, laterRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      laterRoot = nodeHash(laterRoot, hash);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && earlierRoot === earlier.rootHash && laterRoot === later.rootHash;
}

function areSizes(...numbers: readonly number[]): boolean {
  return numbers.every((number) => Number.isSafeInteger(number) && number >= 0);
}

function isPowerOfTwo(size: number): boolean {
  let rest = size;
  while (rest % 2 === 0) rest /= 2;
  return rest === 1;
}

function half(number: number): number {
  return Math.floor(number / 2);
}
