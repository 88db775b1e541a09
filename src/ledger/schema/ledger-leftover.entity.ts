import { Entity, PrimaryColumn } from 'typeorm';

/** The table of `LedgerLeftover`. */
export const LEFTOVERS = 'ledger_leftovers';

/** A removed record whose dependent rows are still to be deleted: too many for one batch. Nothing shows these rows. */
@Entity(LEFTOVERS)
export class LedgerLeftover {
  /** The kind of the rows to delete. */
  @PrimaryColumn('text')
  readonly subjectType!: string;

  @PrimaryColumn('text')
  readonly ownerId!: string;
}
