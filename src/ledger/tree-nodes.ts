import type { ColumnDefinition } from '../database/dialect';
import type { SqlValue } from '../database/sql-connection';
import type { TreeNode } from './merkle/tree-frontier';

/** The table of the kept subtrees: `LedgerTreeNode`. */
export const TREE_NODES = 'ledger_tree_nodes';

export const TREE_NODE_COLUMNS: readonly ColumnDefinition[] = [
  { name: 'level', type: 'integer' },
  { name: 'position', type: 'integer' },
  { name: 'hash', type: 'text' },
];

export function treeNodeValues({ level, position, hash }: TreeNode): SqlValue[] {
  return [level, position, hash];
}
