import { createHash, type Hash } from 'node:crypto';
import { leafHash, TreeFrontier, type TreeHash, type TreeNode } from '../ledger/merkle/tree';

/** The Merkle tree computed from the entries. */
export interface RecomputedTree {
  readonly size: number;
  readonly rootHash: TreeHash;
  /** As the head record should have it. */
  readonly frontier: string;
  /** One hash per level over its kept subtrees. */
  readonly kept: Readonly<Record<number, string>>;
  /** The root at each requested size that the tree has reached. */
  readonly roots: Readonly<Record<number, TreeHash>>;
}

/** Hashes kept subtrees level by level, so that two sets of any size can be compared without holding either. */
export class KeptSubtrees {
  private readonly levels = new Map<number, Hash>();

  /** Subtrees of one level are given from left to right. */
  add({ level, position, hash }: TreeNode): void {
    const known = this.levels.get(level) ?? createHash('sha256');
    this.levels.set(level, known.update(`${position}:${hash}\n`));
  }

  finish(): Record<number, string> {
    return Object.fromEntries([...this.levels].map(([level, hash]) => [level, hash.digest('hex')]));
  }
}

/** Recomputes the tree from the stored hashes of the entries, given in order. */
export class TreeCheck {
  private readonly frontier = TreeFrontier.empty();
  private readonly kept = new KeptSubtrees();
  private readonly roots: Record<number, TreeHash> = {};

  /** @param sizes of which the root is wanted. */
  constructor(private readonly sizes: ReadonlySet<number>) {
    this.note();
  }

  /** @param entryHash as it is stored: an altered one may hold anything. */
  add(entryHash: unknown): void {
    const completed: TreeNode[] = [];
    this.frontier.append(leafHash(entryHash), completed);
    for (const node of completed) this.kept.add(node);
    this.note();
  }

  finish(): RecomputedTree {
    const { size, root: rootHash, text: frontier } = this.frontier;
    return { size, rootHash, frontier, kept: this.kept.finish(), roots: this.roots };
  }

  private note(): void {
    const { size } = this.frontier;
    if (this.sizes.has(size)) this.roots[size] = this.frontier.root;
  }
}
