/** A column of a table as the ledger writes it. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: 'text' | 'integer' | 'json';
}

/**
 * SQL for stored values as they are, for databases whose columns accept values of any type: JSON would render bytes in
 * SQLite's JSONB format like the value they represent.
 */
export interface StorageForms {
  /** A condition: the column holds bytes. */
  isBytes(column: string): string;
  /** A condition: the column holds bytes, another type, or text that is not JSON, where it should be. */
  isAltered(column: ColumnDefinition): string;
  /** Texts and bytes as `text:` or `blob:` followed by their bytes in hexadecimal; other values unchanged. */
  form(column: string): string;
}

/** The SQL that differs between databases. Everything else is written once, for all. */
export interface Dialect {
  /** Starts a transaction that holds the write lock. */
  readonly begin: string;
  /**
   * Lists what statements find under these names, each with its `type`: `table`, `filtered` for a table of which row
   * security hides rows, or another word for a view and the like. The result may have other names, too.
   */
  readonly query: (names: readonly string[]) => { readonly sql: string; readonly parameters: readonly string[] };
  /** Starts a reading transaction with a consistent snapshot as of its first statement. */
  readonly beginReading: string;
  /** Selects the time of the database as `now`, in milliseconds; null if the machine's clock is used. */
  readonly clock: string | null;
  /** Locks the head row for this transaction; empty where one process owns the file. */
  readonly lockRow: string;
  /** A FROM item that yields one row, `item.value`, per element of the JSON array in a parameter. */
  jsonElements(parameter: string): string;
  /** The value at an index of the JSON array `item.value`, in the column's type. */
  jsonAt(index: number, column: ColumnDefinition): string;
  /** The JSON text of a member of the JSON object in a text column; null if the object lacks it. */
  jsonMember(column: string, name: string): string;
  /**
   * A column in a condition for which no index should be used, where the planner cannot tell that another one is
   * better.
   */
  unindexed(column: string): string;
  /** A condition that few rows meet, so that an index with its column is better, where the planner cannot tell. */
  unlikely(condition: string): string;
  /** Aggregates rows into the text of a JSON list, each row a list of the columns' values. */
  jsonRows(columns: readonly string[]): string;
  /**
   * The JSON text of a column's value: JSON is its own text, and null is written. An altered value fails, or is one for
   * which `isAltered` is true.
   */
  jsonText(column: ColumnDefinition): string;
  /** A text column's value in a form from which `placeAt` restores it exactly: drivers alter text that is not UTF-8. */
  position(column: string): string;
  placeAt(parameter: string): string;
  /** Null if columns only hold values of their type. */
  readonly storageForms: StorageForms | null;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
