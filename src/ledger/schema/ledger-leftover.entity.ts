import { Entity, PrimaryColumn } from 'typeorm';

/** The table of `LedgerLeftover`. */
export const LEFTOVERS = 'ledger_leftovers';

/** A removed record with rows that went with it and are still to be deleted: too many for one batch. Nothing shows them. */
@Entity(LEFTOVERS)
export class LedgerLeftover {
  /** Of the rows that are to be deleted. */
  @PrimaryColumn('text')
  readonly subjectType!: string;

  @PrimaryColumn('text')
  readonly ownerId!: string;
}
