import { createHash, type Hash } from 'node:crypto';
import { leafHash, TreeFrontier, type TreeHash, type TreeNode } from '../../ledger/merkle/tree';
import type { TreeReader } from '../../ledger/reading/tree-reader';

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

/** The tree computed from the entries, and whether the stored tree matches it. */
export interface TreeVerdict {
  readonly size: number;
  readonly rootHash: string;
  readonly matches: boolean;
}

/** Compares the stored tree with the one computed from the entries. Subtrees stored since then are ignored. */
export async function treeVerdict(
  reader: Pick<TreeReader, 'kept' | 'size'>,
  recomputed: RecomputedTree,
  frontier: string | null,
): Promise<TreeVerdict> {
  const { size, rootHash } = recomputed;
  const { stored, furthest } = await keptTree(reader, size);
  const levels = new Set([...Object.keys(stored), ...Object.keys(recomputed.kept)].map(Number));
  const areSame = [...levels].every((level) => stored[level] === recomputed.kept[level]);
  // The log has grown meanwhile; but a subtree over entries that do not exist yet was added by somebody else.
  const isWithinLog = furthest <= size || furthest <= (await reader.size());
  return { size, rootHash, matches: areSame && isWithinLog && (frontier ?? '') === recomputed.frontier };
}

interface KeptTree {
  /** One hash per level, over the subtrees that end within the size. */
  readonly stored: Record<number, string>;
  /** The last entry that any of them covers, beyond the size or not. */
  readonly furthest: number;
}

async function keptTree(reader: Pick<TreeReader, 'kept'>, size: number): Promise<KeptTree> {
  const kept = new KeptSubtrees();
  let furthest = 0;
  let last: TreeNode | undefined;
  for (let chunk = await reader.kept(); chunk.length > 0; chunk = await reader.kept(last)) {
    for (const node of chunk) {
      // Anything else is not part of a log, and nothing can be looked up after a rounded number.
      if (!isSubtree(node)) return { stored: {}, furthest: Infinity };
      last = node;
      const end = (node.position + 1) * 2 ** node.level;
      if (end <= size) kept.add(node);
      furthest = Math.max(furthest, end);
    }
  }
  return { stored: kept.finish(), furthest };
}

/** The driver rounds integers of more than 53 bits, and a column of SQLite accepts values of any type. */
function isSubtree(node: Record<keyof TreeNode, unknown>): node is TreeNode {
  return Number.isSafeInteger(node.level) && Number.isSafeInteger(node.position) && typeof node.hash === 'string';
}
