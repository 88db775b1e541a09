import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TreeFrontier } from '../merkle/tree';

/** The end of the chain: one row, moved in the transaction of every batch. It reveals a truncated ledger. */
@Entity('ledger_head')
export class LedgerHead {
  /** Always 1. */
  @PrimaryColumn('integer')
  readonly id!: number;

  @Column('bigint')
  readonly sequence!: number;

  @Column('text')
  readonly hash!: string;

  @Column('text')
  readonly timestamp!: string;

  /** The last ULID issued, so that identifiers keep sorting by creation across restarts. */
  @Column('text')
  readonly lastUlid!: string;

  /** The last entry that changed what processes keep in memory. */
  @Column('bigint')
  readonly effectSequence!: number;

  /** Size of the Merkle tree over the entries, and what it needs in order to grow: `TreeFrontier`. */
  @Column('text', { default: TreeFrontier.empty().text })
  readonly frontier!: string;

  /** The newest migration that any process has applied: processes of earlier versions stop writing. */
  @Column('bigint', { default: 0 })
  readonly schemaVersion!: number;
}
