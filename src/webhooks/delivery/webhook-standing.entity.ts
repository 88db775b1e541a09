import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Where an endpoint stands. Written next to the ledger: a delivery is not a change of a record, and nothing is hashed here. */
@Entity('webhook_standings')
export class WebhookStanding {
  @PrimaryColumn('text')
  readonly webhookId!: string;

  /** Of the last entry that needs no delivery any more. */
  @Column('bigint')
  readonly sequence!: number;

  /** Raised when somebody sets where the endpoint stands: what the deliverer knew before does not count any more. */
  @Column('bigint')
  readonly epoch!: number;

  /** Of the lease under which it was written. */
  @Column('bigint')
  readonly term!: number;

  /** Attempts that failed since the last that did not. */
  @Column('integer')
  readonly attempts!: number;

  /** ISO 8601, like the others: when the first of them failed. */
  @Column('text', { nullable: true })
  readonly failingSince!: string | null;

  @Column('text', { nullable: true })
  readonly lastAttemptAt!: string | null;

  /** Null: there was no answer. */
  @Column('integer', { nullable: true })
  readonly lastStatus!: number | null;

  /** Null: nothing is waited for. */
  @Column('text', { nullable: true })
  readonly nextAttemptAt!: string | null;
}
