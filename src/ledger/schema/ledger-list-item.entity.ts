import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

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
