import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The number of records of a kind, or with one value of a counted column. Moves with the head. */
@Entity('ledger_counters')
export class LedgerCounter {
  @PrimaryColumn('text')
  readonly name!: string;

  @Column('bigint')
  readonly value!: number;
}
