import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { JsonObject } from '../../json/json-value';
import type { EntryOutcome } from '../ledger-transaction';
import { saysStateSql } from '../records/access-denied';

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

  @Column('simple-json')
  readonly details!: JsonObject;

  @Column('text', { nullable: true })
  readonly requestId!: string | null;

  @Column('text', { nullable: true })
  readonly ip!: string | null;

  /** Canonical JSON of the subject as it was after the entry; null if it no longer existed. */
  @Column('simple-json', { nullable: true })
  readonly state!: JsonObject | null;

  @Column('text')
  readonly auditHash!: string;

  @Column('text', { nullable: true })
  readonly stateHash!: string | null;

  @Column('text')
  readonly previousHash!: string;

  @Column('text')
  readonly hash!: string;
}
