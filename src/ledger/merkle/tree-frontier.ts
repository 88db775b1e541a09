import { isTreeHash, joinedHash, nodeHash, type TreeHash } from './tree-hash';
import type { LedgerPosition } from '../chain/ledger-position';
import { TreeDamagedError } from './tree-damaged.error';

/** A complete subtree of 2^level leaves; `position` such subtrees lie to its left. */
export interface TreeNode {
  readonly level: number;
  readonly position: number;
  readonly hash: TreeHash;
}

/** Subtrees of every eighth level are kept: of 256 leaves, of 65,536, and so on. */
export const KEPT_LEVELS = 8;

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

  /** Parses what `text` returned; null if it is not a frontier. */
  static parse(text: string): TreeFrontier | null {
    const colon = text.indexOf(':');
    const size = text.slice(0, colon);
    const subtrees = text.slice(colon + 1).match(/.{1,64}/gs) ?? [];
    if (!SIZE.test(size) || subtrees.length !== ones(Number(size)) || !subtrees.every(isTreeHash)) return null;
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

/** How many ones the number has in binary. */
function ones(size: number): number {
  let count = 0;
  for (let rest = size; rest > 0; rest = Math.floor(rest / 2)) count += rest % 2;
  return count;
}

/** The tree in the head record. If its size is not the chain's length, it must neither grow nor be signed. */
export function treeOf({ sequence, frontier }: Pick<LedgerPosition, 'sequence' | 'frontier'>): TreeFrontier {
  const tree = TreeFrontier.parse(frontier);
  if (tree?.size === sequence) return tree;
  throw new TreeDamagedError(`The head record has no tree of the size ${sequence}, where it says that the chain ends.`);
}
