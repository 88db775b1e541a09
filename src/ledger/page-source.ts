/** A table that can be listed in order of creation, and where its totals are kept. */
export interface PageSource {
  readonly table: string;
  readonly columns: readonly string[];
  /** Those of the columns whose texts can be of any length. */
  readonly longColumns: readonly string[];
  /** Unique, ascending with creation. */
  readonly orderColumn: string;
  /** A time that never falls along the order, indexed; null: there is none to filter by. */
  readonly timeColumn: string | null;
  readonly counter: string;
  /** The columns whose values are counted apart. */
  readonly countedBy: readonly string[];
  /** The columns whose lists' items are indexed and counted. */
  readonly listColumns: readonly string[];
  /** Columns each of whose values few rows have, the most telling first. */
  readonly selectiveColumns: readonly string[];
  /** True for the ledger's entries: the head's sequence counts all of them. */
  readonly isLedger: boolean;
}
