import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Until when a process counts as alive. Used where several processes share a database, outside the ledger: a renewal is
 * not a change of a record, and nothing is hashed here.
 */
@Entity('process_leases')
export class ProcessLease {
  @PrimaryColumn('text')
  readonly id!: string;

  /** Milliseconds of the database's clock, like `until`: since then the lease has not lapsed. */
  @Column('bigint')
  readonly since!: number;

  @Column('bigint')
  readonly until!: number;
}
