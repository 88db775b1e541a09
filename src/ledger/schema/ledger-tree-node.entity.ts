import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ColumnDefinition } from '../../database/dialect';
import type { SqlValue } from '../../database/sql-connection';
import type { TreeNode } from '../merkle/tree';

/**
 * A complete subtree of the Merkle tree over 256 entries, 65,536, and so on: proofs are built from these and from
 * entries.
 */
@Entity('ledger_tree_nodes')
export class LedgerTreeNode {
  /** The subtree has 2^level entries: 8, 16, 24 … */
  @PrimaryColumn('integer')
  readonly level!: number;

  /** The number of subtrees of this level to its left. */
  @PrimaryColumn('bigint')
  readonly position!: number;

  @Column('text')
  readonly hash!: string;
}

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
