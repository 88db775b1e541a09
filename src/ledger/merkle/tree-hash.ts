import { hash as digest } from 'node:crypto';

/** A SHA-256 hash in lower-case hex, as all hashes of the ledger are. */
export type TreeHash = string;

const HASH_BYTES = 32;
const LEAF_PREFIX = 0;
const NODE_PREFIX = 1;

/** Root of the tree without leaves: SHA-256 of nothing (RFC 6962, section 2.1). */
export const EMPTY_ROOT: TreeHash = digest('sha256', '', 'hex');

// Reused for every hash: writing an entry hashes twice, and allocating two buffers would cost more than the hashing.
const leafInput = Buffer.alloc(1 + HASH_BYTES, LEAF_PREFIX);
const nodeInput = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX);

/** The leaf hash of an entry: SHA-256(0x00 ‖ the 32 bytes of the entry's `hash`), RFC 6962, section 2.1. */
export function leafHash(entryHash: unknown): TreeHash {
  if (!isTreeHash(entryHash)) return digest('sha256', `\0${String(entryHash)}`, 'hex');
  leafInput.write(entryHash, 1, 'hex');
  return digest('sha256', leafInput, 'hex');
}

/** Hash of an inner node: SHA-256(0x01 ‖ left ‖ right), RFC 6962, section 2.1. */
export function nodeHash(left: TreeHash, right: TreeHash): TreeHash {
  nodeInput.write(left, 1, 'hex');
  nodeInput.write(right, 1 + HASH_BYTES, 'hex');
  return digest('sha256', nodeInput, 'hex');
}

export function isTreeHash(text: unknown): text is TreeHash {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
}

/** Root of adjacent complete subtrees, the largest first. */
export function joinedHash(subtrees: readonly TreeHash[]): TreeHash {
  return subtrees.length === 0 ? EMPTY_ROOT : subtrees.reduceRight((right, left) => nodeHash(left, right));
}
