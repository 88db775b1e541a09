import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which process delivers, where several share a database: one row. */
@Entity('webhook_leases')
export class WebhookLease {
  @PrimaryColumn('integer')
  readonly id!: number;

  @Column('text')
  readonly holder!: string;

  /** Higher for each holder. */
  @Column('bigint')
  readonly term!: number;

  /** Milliseconds of the database's clock. */
  @Column('bigint')
  readonly until!: number;
}
