import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A complete subtree of the Merkle tree, of 256 entries, 65,536, and so on: proofs are made of these and of the entries. */
@Entity('ledger_tree_nodes')
export class LedgerTreeNode {
  /** The subtree has 2^level entries: 8, 16, 24 … */
  @PrimaryColumn('integer')
  readonly level!: number;

  /** How many subtrees of the level lie to the left. */
  @PrimaryColumn('bigint')
  readonly position!: number;

  @Column('text')
  readonly hash!: string;
}
