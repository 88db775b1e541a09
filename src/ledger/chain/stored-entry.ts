import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * Action of the entry for a refused caller. Such an entry has no state, and its subject need not be a record, so a
 * search for the last state of a record skips it.
 */
export const ACCESS_DENIED = 'access.denied';

/**
 * Condition for entries that hold a state. A partial index has the same text, so that the database uses it.
 * @param alias alias of the table, with its dot; empty if it has none
 */
export function saysStateSql(alias = ''): string {
  return `${alias}"action" <> '${ACCESS_DENIED}'`;
}

/** Action of the entry that records the erasure of a record. */
export function erasureAction(subjectType: string): string {
  return `${subjectType}.erased`;
}

/** True for an entry that records the erasure of its own subject. @param alias alias of the table, with its dot */
export function isErasureSql(alias = ''): string {
  return `${alias}"action" = ${alias}"subjectType" || '${erasureAction('')}'`;
}

/**
 * An entry of the ledger: an event (the audit view), its seal in the chain (the provenance view) and the state of its
 * subject afterwards. They are always one to one, so they share a row and none can be orphaned.
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
export class StoredEntry {
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
  readonly outcome!: string;

  @Column('text', { nullable: true })
  readonly reason!: string | null;

  /** Canonical JSON; `null` once erased. */
  @Column('text')
  readonly details!: string;

  @Column('text', { nullable: true })
  readonly requestId!: string | null;

  @Column('text', { nullable: true })
  readonly ip!: string | null;

  /** Canonical JSON of the subject as it was after the entry; null if it no longer existed. */
  @Column('text', { nullable: true })
  readonly state!: string | null;

  /** Salt of `details`, `ip`, `reason` and `requestId`; null in version 1, and after an erasure. */
  @Column('text', { nullable: true })
  readonly detailsSalt!: string | null;

  /** Salt of `state`; null if `stateHash` is. */
  @Column('text', { nullable: true })
  readonly stateSalt!: string | null;

  /** Hash of the salted details; null in version 1. */
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

  /** Sequence of the entry that recorded the erasure; null if the contents were not erased. */
  @Column('bigint', { nullable: true })
  readonly erased!: number | null;
}
