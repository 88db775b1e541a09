/** A column of a table as the ledger writes it. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: 'text' | 'integer' | 'json';
}

/**
 * What columns hold is asked for apart, where a column takes values of any type: JSON shows bytes that are SQLite's own form
 * of JSON like the value they stand for.
 */
export interface StorageForms {
  /** A condition: the column holds bytes. */
  isBytes(column: string): string;
  /** A text or bytes as `text:` or `blob:` and their bytes in hexadecimal; anything else as it is. */
  form(column: string): string;
}

/** Where the SQL of the databases differs. Everything else is written once, for all. */
export interface Dialect {
  /** Starts a transaction that holds the right to write. */
  readonly begin: string;
  /** Starts a transaction that reads, all of it as of its first statement. */
  readonly beginReading: string;
  /** Selects the time of the database as `now`, in milliseconds; null where it is the machine's. */
  readonly clock: string | null;
  /** Keeps the head row to this transaction; empty where one process owns the file. */
  readonly lockRow: string;
  /** A FROM item that yields one row, `item.value`, per element of the JSON array in a parameter. */
  jsonElements(parameter: string): string;
  /** The value at an index of the JSON array `item.value`, in the column's type. */
  jsonAt(index: number, column: ColumnDefinition): string;
  /** A column in a condition for which no index is to be looked up, where the planner cannot tell that another is better. */
  unindexed(column: string): string;
  /** Aggregates rows to the text of a JSON list, each row a list of the columns' values. */
  jsonRows(columns: readonly string[]): string;
  /** A text column's value as a text from which `placeAt` makes it again, whatever it is: drivers change what is not UTF-8. */
  place(column: string): string;
  placeAt(parameter: string): string;
  /** Null where a column holds values of its type and nothing else. */
  readonly storageForms: StorageForms | null;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
