export type SqlValue = string | number | null;

/** A row as the driver returns it: column name to value. */
export type SqlRow = Record<string, SqlValue>;

export interface SqlStatement {
  readonly sql: string;
  readonly parameters: readonly SqlValue[];
}

/**
 * Runs single statements, which may run at the same time. `$1` is the first parameter, wherever it appears. Every
 * failure is a `DatabaseFault`.
 */
export interface SqlSessions {
  all<Row = SqlRow>(sql: string, parameters?: readonly SqlValue[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** One connection to the database. Statements run one after another, in call order; each text is prepared once. */
export interface SqlConnection extends SqlSessions {
  /** True once the connection is known to be broken; its owner opens another. */
  readonly isLost: boolean;
  run(sql: string, parameters?: readonly SqlValue[]): Promise<void>;
  /** Runs all statements in order; rejects with the first failure. */
  runAll(statements: readonly SqlStatement[]): Promise<void>;
  /**
   * Ends the transaction. Rejects unless the server confirms that the transaction is on disk, and on its standby if it
   * waits for one.
   */
  commit(): Promise<void>;
}

/**
 * Tells whether a failed COMMIT took place: a query for a row that it would have written, and the expected value in it.
 */
export interface CommitProof extends SqlStatement {
  readonly expected: SqlValue;
}

/** Prepares a connection for use, and closes it if that fails. */
export async function preparedConnection<Connection extends Pick<SqlConnection, 'close'>>(
  opening: Promise<Connection>,
  prepare: (connection: Connection) => Promise<void>,
): Promise<Connection> {
  const connection = await opening;
  try {
    await prepare(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  return connection;
}
