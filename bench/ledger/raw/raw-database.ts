export type Value = string | number | null;
export type Row = Record<string, Value>;
export type RawStatement = readonly [sql: string, parameters: readonly Value[]];

/** Stands for the rows of the JSON array that is the first parameter, each as `value`. */
export const ROWS = 'json_each($1)';

/** A driver wrapped in promises only, with the same settings as in the service. */
export interface RawDatabase {
  /** Starts a transaction that holds the right to write; returns the head row. */
  begin(): Promise<Row | undefined>;
  /** Runs statements in their order, without waiting between them where the driver can do so. */
  runTogether(statements: readonly RawStatement[]): Promise<Row[][]>;
  close(): Promise<void>;
}
