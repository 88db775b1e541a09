import type { SqlConnection, SqlRow, SqlValue } from '../sql-connection';
import { Database, type SqliteHandle, type SqliteStatement } from './sqlite-driver';
import { sqliteFault } from './sqlite-fault';

type Callback<Value> = (error: Error | null, value: Value) => void;

/** Turns the driver's callback into a promise, and its error into a `DatabaseFault`. */
function called<Value>(start: (callback: Callback<Value>) => void): Promise<Value> {
  return new Promise((resolve, reject) => {
    start((error, value) => {
      if (error) reject(sqliteFault(error));
      else resolve(value);
    });
  });
}

/**
 * A SQLite connection. The driver would run statements of one connection on several threads of the pool, where all but
 * one wait for the connection's mutex; here they queue, so a slow list holds one thread and not the pool.
 */
export class SqliteConnection implements SqlConnection {
  private readonly statements = new Map<string, SqliteStatement>();
  private last: Promise<unknown> = Promise.resolve();

  private constructor(private readonly handle: SqliteHandle) {}

  static async open(path: string, flags: number): Promise<SqliteConnection> {
    const handle = await new Promise<SqliteHandle>((resolve, reject) => {
      const opened: SqliteHandle = new Database(path, flags, (error) => {
        if (error) reject(sqliteFault(error));
        else resolve(opened);
      });
    });
    return new SqliteConnection(handle);
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    return this.queued(async () => {
      const statement = await this.prepared(sql);
      return called<Row[]>((callback) => statement.all<Row>(parameters, callback));
    });
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    await this.all(sql, parameters);
  }

  /** Waits for what was called before. */
  close(): Promise<void> {
    return this.queued(async () => {
      for (const statement of this.statements.values()) {
        await called<null>((callback) => statement.finalize(() => callback(null, null)));
      }
      this.statements.clear();
      await called<null>((callback) => this.handle.close((error) => callback(error, null)));
    });
  }

  private queued<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.last.then(work, work);
    this.last = result;
    return result;
  }

  private async prepared(sql: string): Promise<SqliteStatement> {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    const made = await new Promise<SqliteStatement>((resolve, reject) => {
      const statement: SqliteStatement = this.handle.prepare(numbered(sql), (error: Error | null) => {
        if (error) reject(sqliteFault(error));
        else resolve(statement);
      });
    });
    this.statements.set(sql, made);
    return made;
  }
}

/** `$1` is a name to SQLite, numbered by first appearance; `?1` is the first parameter wherever it stands. */
function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1');
}
