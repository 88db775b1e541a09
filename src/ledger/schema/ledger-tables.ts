import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { ColumnDefinition } from '../database/dialect';
import { StoredEntry } from '../chain/stored-entry';
import { TreeFrontier } from '../merkle/tree';
import { columnsOf } from '../records/record-codec';
import { SUMS } from '../records/statements';

/** The columns of entries, in the order they are written. */
export const ENTRY_COLUMNS = columnsOf(StoredEntry) as readonly (ColumnDefinition & {
  readonly name: keyof StoredEntry;
})[];

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

  /** Last ULID issued, so that identifiers keep sorting by creation across restarts. */
  @Column('text')
  readonly lastUlid!: string;

  /** Sequence of the last entry that changed projections of processes; 0 if none has. */
  @Column('bigint')
  readonly effectSequence!: number;

  /** Size and growth state of the Merkle tree over the entries: `TreeFrontier`. */
  @Column('text', { default: TreeFrontier.empty().text })
  readonly frontier!: string;

  /** Newest migration that any process has applied; processes of earlier versions stop writing. */
  @Column('bigint', { default: 0 })
  readonly schemaVersion!: number;
}

/** The end of the chain: the head row as read at the start of a batch, then advanced by each entry. */
export type LedgerPosition = Omit<LedgerHead, 'id'>;

/** The number of records of a kind, or with one value of a counted column. Moves with the head. */
@Entity('ledger_counters')
export class LedgerCounter {
  @PrimaryColumn('text')
  readonly name!: string;

  @Column('bigint')
  readonly value!: number;
}

/** A sum over entries, such as the used amount of a limit. Written with the entries; nothing is hashed here. */
@Entity(SUMS)
export class LedgerSum {
  @PrimaryColumn('text')
  readonly sum!: string;

  @PrimaryColumn('text')
  readonly window!: string;

  @PrimaryColumn('text')
  readonly key!: string;

  /** Exact decimal number. */
  @Column('text')
  readonly value!: string;
}

/** One value in a JSON list of a record. Written with the record; nothing is hashed here. */
@Entity('ledger_list_items')
export class LedgerListItem {
  /** The counter of the value, such as `agents:roles:billing`. */
  @PrimaryColumn('text')
  readonly item!: string;

  /** The record's `createdSequence`. */
  @PrimaryColumn('bigint')
  readonly createdSequence!: number;

  @Index()
  @Column('text')
  readonly recordId!: string;
}

/** The table of `LedgerLeftover`. */
export const LEFTOVERS = 'ledger_leftovers';

/** A removed record whose dependent rows are still to be deleted: too many for one batch. Nothing shows these rows. */
@Entity(LEFTOVERS)
export class LedgerLeftover {
  /** The kind of the rows to delete. */
  @PrimaryColumn('text')
  readonly subjectType!: string;

  @PrimaryColumn('text')
  readonly ownerId!: string;
}

/**
 * A complete subtree of the Merkle tree, over 256 entries, 65,536, and so on. Proofs are built from these nodes and
 * from entries.
 */
@Entity('ledger_tree_nodes')
export class LedgerTreeNode {
  /** The subtree has 2^level entries: 8, 16, 24 … */
  @PrimaryColumn('integer')
  readonly level!: number;

  /** Number of subtrees of this level to its left. */
  @PrimaryColumn('bigint')
  readonly position!: number;

  @Column('text')
  readonly hash!: string;
}

/** The result of a write with an `Idempotency-Key`. Written with its effect; nothing is hashed here. */
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of the request's scope and key, and of the write's position among those of the request. */
  @PrimaryColumn('text')
  readonly id!: string;

  /** SHA-256 of the request's content. */
  @Column('text')
  readonly contentHash!: string;

  /**
   * JSON: the records that the stored response may show, each in a list of its own. The response is deleted if one of
   * them is erased.
   */
  @Column('text', { default: '[]' })
  readonly subjects!: string;

  /** JSON: see idempotency-store.ts. */
  @Column('text')
  readonly answer!: string;

  @Index()
  @Column('text')
  readonly createdAt!: string;
}
