import type { TreeNode } from '../ledger/merkle/tree';
import type { TreeReader } from '../ledger/reading/tree-reader';
import { KeptSubtrees, type RecomputedTree } from './tree-check';

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
