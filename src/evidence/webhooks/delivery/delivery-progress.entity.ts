import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The delivery position of an endpoint. A delivery is not a change of a record, and nothing is hashed here; so it is
 * written outside the ledger, but for what a caller sets.
 */
@Entity('webhook_standings')
export class DeliveryProgress {
  @PrimaryColumn('text')
  readonly webhookId!: string;

  /** Sequence of the last entry that no longer needs delivery. */
  @Column('bigint')
  readonly sequence!: number;

  /** Another, random one whenever somebody sets the position: what the deliverer knew before is then outdated. */
  @Column('bigint')
  readonly epoch!: number;

  /** The ledger's last sequence when it was last replayed, whose filter chooses the entries up to it; null: never. */
  @Column('bigint', { nullable: true })
  readonly replayHead!: number | null;

  /** Term of the lease under which it was written. */
  @Column('bigint')
  readonly term!: number;

  /** Failed attempts to deliver what is failing: one entry, to one URL. */
  @Column('integer')
  readonly attempts!: number;

  /** ISO 8601, like the others: when the first of them failed. */
  @Column('text', { nullable: true })
  readonly failingSince!: string | null;

  /** Sequence of the entry whose attempts failed; null, like `failingUrl`: nothing is failing. */
  @Column('bigint', { nullable: true })
  readonly failingSequence!: number | null;

  @Column('text', { nullable: true })
  readonly failingUrl!: string | null;

  @Column('text', { nullable: true })
  readonly lastAttemptAt!: string | null;

  /** Null: there was no answer. */
  @Column('integer', { nullable: true })
  readonly lastStatus!: number | null;

  /** Null: no retry is pending; after a failure, the endpoint was given up. */
  @Column('text', { nullable: true })
  readonly nextAttemptAt!: string | null;
}

/** The members that are kept of failures, where there are none. */
export const NO_FAILURES = {
  attempts: 0,
  failingSince: null,
  failingSequence: null,
  failingUrl: null,
  nextAttemptAt: null,
} as const;
