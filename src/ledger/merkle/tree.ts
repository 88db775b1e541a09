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

/** Returns the root of adjacent complete subtrees, the largest first. */
export function joinedHash(subtrees: readonly TreeHash[]): TreeHash {
  return subtrees.length === 0 ? EMPTY_ROOT : subtrees.reduceRight((right, left) => nodeHash(left, right));
}

/** A complete subtree of 2^level leaves; `position` such subtrees lie to its left. */
export interface TreeNode {
  readonly level: number;
  readonly position: number;
  readonly hash: TreeHash;
}

/** Every eighth level of subtrees is stored: those of 256 leaves, of 65,536, and so on. */
export const KEPT_LEVELS = 8;

/** Returns the number of stored subtrees of a tree with that many leaves. */
export function storedSubtreeCount(size: number): number {
  const complete = Math.floor(size / 2 ** KEPT_LEVELS);
  return complete === 0 ? 0 : complete + storedSubtreeCount(complete);
}

const SIZE = /^(0|[1-9]\d{0,15})$/;

/**
 * Everything a Merkle tree needs in order to grow: its size and the hashes of the complete subtrees it consists of, the
 * largest first. Their number is the number of ones in the binary size, so adding a leaf costs two hashes on average.
 */
export class TreeFrontier {
  private constructor(
    private leaves: number,
    private readonly subtrees: TreeHash[],
  ) {}

  static empty(): TreeFrontier {
    return new TreeFrontier(0, []);
  }

  /** Parses a text of the form that `text` returns; null if it is no frontier. */
  static parse(text: string): TreeFrontier | null {
    const colon = text.indexOf(':');
    const size = text.slice(0, colon);
    const subtrees = text.slice(colon + 1).match(/.{1,64}/gs) ?? [];
    const ones = Number(size).toString(2).replaceAll('0', '');
    if (!SIZE.test(size) || subtrees.length !== ones.length || !subtrees.every(isTreeHash)) return null;
    return new TreeFrontier(Number(size), [...subtrees]);
  }

  get size(): number {
    return this.leaves;
  }

  get root(): TreeHash {
    return joinedHash(this.subtrees);
  }

  /** Size and hashes, such as `2:5f08…`; `0:` for the empty tree. */
  get text(): string {
    return `${this.leaves}:${this.subtrees.join('')}`;
  }

  /** @param completed receives the kept subtrees that the leaf completes. */
  append(leaf: TreeHash, completed: TreeNode[] = []): void {
    let hash = leaf;
    let level = 0;
    let position = this.leaves;
    for (; position % 2 === 1; position = (position - 1) / 2) {
      hash = nodeHash(this.subtrees.pop() ?? '', hash);
      level += 1;
      if (level % KEPT_LEVELS === 0) completed.push({ level, position: (position - 1) / 2, hash });
    }
    this.subtrees.push(hash);
    this.leaves += 1;
  }
}

/**
 * Returns the tree in the head record. A tree whose size differs from the chain's length must neither grow nor be
 * signed.
 */
export function treeOf({ sequence, frontier }: { readonly sequence: number; readonly frontier: string }): TreeFrontier {
  const tree = TreeFrontier.parse(frontier);
  if (tree?.size === sequence) return tree;
  throw new TreeDamagedError(
    `The head record says that the chain ends at entry ${sequence}, but has no tree of this size.`,
  );
}

/** The stored Merkle tree does not match its entries: the database was altered. */
export class TreeDamagedError extends Error {
  constructor(message: string) {
    super(`${message} The database was altered: verify it, and restore it from a backup.`);
    this.name = 'TreeDamagedError';
  }
}
