/** What every governed row carries besides its own columns. */
export interface GovernedRow {
  readonly id: string;
  /** Sequence of the ledger entry that created the row; lists page by it. */
  readonly createdSequence: number;
}

export type ColumnOf<Row> = keyof Row & string;

/**
 * A kind of record the ledger keeps: what an entry calls its subject, where its rows live and what of them is hashed.
 * `hashedMembers` is frozen: it decides what `stateHash` covers, so old entries verify for ever. A member added to the
 * kind later goes to the end of the table class, never into this list, unless it is left out while unset.
 */
export interface RecordKind<Row extends GovernedRow> {
  readonly subjectType: string;
  /** Without the underscore: `ent` for `ent_01J…`. */
  readonly idPrefix: string;
  /** The TypeORM table class. */
  readonly table: new () => Row;
  readonly hashedMembers: readonly ColumnOf<Row>[];
  /** Column groups that are unique and can be looked up with `findBy`. */
  readonly uniqueKeys?: readonly (readonly ColumnOf<Row>[])[];
  /** Plural name under which the rows are counted, as in `/stats`. */
  readonly counter: string;
  /** A column whose values have totals of their own. */
  readonly countedBy?: ColumnOf<Row>;
}
