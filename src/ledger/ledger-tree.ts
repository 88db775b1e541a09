import type { LedgerPosition } from './ledger-position';
import { TreeDamagedError } from './merkle/tree-damaged.error';
import { TreeFrontier } from './merkle/tree-frontier';

/** The tree as the head record tells it. One that is not of the chain's length must neither grow nor be signed. */
export function treeOf({ sequence, frontier }: Pick<LedgerPosition, 'sequence' | 'frontier'>): TreeFrontier {
  const tree = TreeFrontier.parse(frontier);
  if (tree?.size === sequence) return tree;
  throw new TreeDamagedError(`The head record has no tree of the size ${sequence}, where it says that the chain ends.`);
}
