export type SqlValue = string | number | null;

/** One row as the driver returns it: column name to value. */
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
  /** Runs all of them, in order; rejects with the failure of the first that failed. */
  runAll(statements: readonly SqlStatement[]): Promise<void>;
  /** Ends the transaction. Rejects unless the server confirms that it is on disk, and on its standby if it waits for one. */
  commit(): Promise<void>;
}

/**
 * How to tell, when COMMIT itself failed, whether it took place: a query for a row it would have written, and the value
 * `expected` must have in it.
 */
export interface CommitProof extends SqlStatement {
  readonly expected: SqlValue;
}

/** A connection that is ready for use; one that cannot be prepared is closed. */
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
