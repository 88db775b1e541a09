import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How many records of a kind, or of one value of its counted column, there are. Moves with the head. */
@Entity('ledger_counters')
export class LedgerCounter {
  @PrimaryColumn('text')
  readonly name!: string;

  @Column('bigint')
  readonly value!: number;
}
