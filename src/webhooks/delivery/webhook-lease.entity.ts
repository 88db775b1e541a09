import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which process delivers, if several share a database: a single row. */
@Entity('webhook_leases')
export class WebhookLease {
  @PrimaryColumn('integer')
  readonly id!: number;

  @Column('text')
  readonly holder!: string;

  /** Increased for each holder. */
  @Column('bigint')
  readonly term!: number;

  /** Milliseconds of the database's clock. */
  @Column('bigint')
  readonly until!: number;
}
