import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject } from '../../core/json/json-value';
import type { EntryOutcome } from '../ledger-transaction';
import { saysStateSql } from '../chain/entry-columns';
import { TreeFrontier } from '../merkle/tree';
import { SUMS } from '../records/statements';

/**
 * One entry of the ledger: what happened (the audit view), its seal in the chain (the provenance view) and the state of
 * its subject afterwards. They are always one to one, so they share a row and none can be orphaned.
 */
@Entity('ledger_entries')
@Index(['entityId', 'sequence'])
@Index(['agentId', 'sequence'])
@Index(['subjectId', 'sequence'])
@Index(['subjectId', 'sequence'], { where: saysStateSql() })
@Index(['actorId', 'sequence'])
@Index(['action', 'sequence'])
@Index(['outcome', 'sequence'])
@Index(['timestamp', 'sequence'])
@Index(['agentId', 'action', 'sequence'])
@Index(['agentId', 'outcome', 'sequence'])
@Index(['action', 'outcome', 'sequence'])
export class LedgerEntry {
  @PrimaryColumn('bigint')
  readonly sequence!: number;

  /** Version of the hashed form. */
  @Column('integer')
  readonly v!: number;

  @Column('text')
  readonly id!: string;

  @Column('text')
  readonly auditId!: string;

  @Column('text')
  readonly timestamp!: string;

  @Column('text')
  readonly action!: string;

  @Column('text')
  readonly actorType!: string;

  @Column('text')
  readonly actorId!: string;

  @Column('text', { nullable: true })
  readonly agentId!: string | null;

  @Column('text', { nullable: true })
  readonly entityId!: string | null;

  @Column('text')
  readonly subjectType!: string;

  @Column('text')
  readonly subjectId!: string;

  @Column('text')
  readonly outcome!: EntryOutcome;

  @Column('text', { nullable: true })
  readonly reason!: string | null;

  /** The JSON text `null` once erased. */
  @Column('simple-json')
  readonly details!: JsonObject | null;

  @Column('text', { nullable: true })
  readonly requestId!: string | null;

  @Column('text', { nullable: true })
  readonly ip!: string | null;

  /** Canonical JSON of the subject as it was after the entry; null if it no longer existed. */
  @Column('simple-json', { nullable: true })
  readonly state!: JsonObject | null;

  /** Of `details`, `ip`, `reason` and `requestId`; null in version 1, and once they are erased. */
  @Column('text', { nullable: true })
  readonly detailsSalt!: string | null;

  /** The same of `state`. */
  @Column('text', { nullable: true })
  readonly stateSalt!: string | null;

  /** Null in version 1. */
  @Column('text', { nullable: true })
  readonly detailsHash!: string | null;

  @Column('text')
  readonly auditHash!: string;

  @Column('text', { nullable: true })
  readonly stateHash!: string | null;

  @Column('text')
  readonly previousHash!: string;

  @Column('text')
  readonly hash!: string;

  /** Sequence of the entry that says that the contents were erased. */
  @Column('bigint', { nullable: true })
  readonly erased!: number | null;
}

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

/** The number of records of a kind, or with one value of a counted column. Moves with the head. */
@Entity('ledger_counters')
export class LedgerCounter {
  @PrimaryColumn('text')
  readonly name!: string;

  @Column('bigint')
  readonly value!: number;
}

/** A sum of what entries say, such as what was used of a limit. Written with the entries; nothing is hashed here. */
@Entity(SUMS)
export class LedgerSum {
  @PrimaryColumn('text')
  readonly sum!: string;

  @PrimaryColumn('text')
  readonly window!: string;

  @PrimaryColumn('text')
  readonly key!: string;

  /** A decimal number, exactly. */
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

/** The result of a write with an `Idempotency-Key`. Written with its effect; nothing is hashed here. */
@Entity('idempotency_keys')
export class IdempotencyKey {
  /** SHA-256 of the request's scope and key, and of the write's position among those of the request. */
  @PrimaryColumn('text')
  readonly id!: string;

  /** SHA-256 of the request's content. */
  @Column('text')
  readonly contentHash!: string;

  /** JSON: the records that the answer may show, each in a list of its own. An answer goes with what is erased. */
  @Column('text', { default: '[]' })
  readonly subjects!: string;

  /** JSON: see idempotency-store.ts. */
  @Column('text')
  readonly answer!: string;

  @Index()
  @Column('text')
  readonly createdAt!: string;
}
