import * as sqlite3 from 'sqlite3';
import { Database, type Statement } from 'sqlite3';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions';
import type { SqlConnection, SqlRow, SqlStatement, SqlValue } from '../sql-connection';
import { sqliteFault } from './sqlite-fault';

type Callback<Value> = (error: Error | null, value: Value) => void;
type Work<Value> = (finish: Callback<Value>) => void;

/**
 * A SQLite connection. The driver would run statements of one connection on several threads of the pool, where all but
 * one wait for the connection's mutex; here they queue, so that a slow list occupies one thread and not the pool.
 */
export class SqliteConnection implements SqlConnection {
  /** A handle stays usable; only its file can fail. */
  readonly isLost = false;
  private readonly statements = new Map<string, Statement>();
  private readonly waiting: (() => void)[] = [];
  private isBusy = false;

  private constructor(private readonly handle: Database) {}

  static async open(path: string, use: FileUse): Promise<SqliteConnection> {
    const handle = await new Promise<Database>((resolve, reject) => {
      const opened: Database = new Database(path, FLAGS[use], (error) => {
        if (error) reject(sqliteFault(error));
        else resolve(opened);
      });
    });
    return new SqliteConnection(handle);
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    return this.queued<Row[]>((finish) => this.execute(sql, parameters, finish));
  }

  run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    return this.runAll([{ sql, parameters }]);
  }

  /** Stops at the first failure. */
  runAll(statements: readonly SqlStatement[]): Promise<void> {
    return this.queued<undefined>((finish) => this.runFrom(statements, 0, finish));
  }

  /** Waits for earlier calls. */
  async close(): Promise<void> {
    await this.queued<undefined>((finish) => {
      for (const statement of this.statements.values()) statement.finalize();
      this.statements.clear();
      this.handle.close((error) => finish(error, undefined));
    });
  }

  /**
   * Starts the work once all earlier calls have finished. Only one promise per call: this is the service's busiest
   * path.
   */
  private queued<Value>(work: Work<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const finish: Callback<Value> = (error, value) => {
        this.startNext();
        if (error) reject(sqliteFault(error));
        else resolve(value);
      };
      this.waiting.push(() => start(work, finish));
      if (!this.isBusy) this.startNext();
    });
  }

  private startNext(): void {
    const next = this.waiting.shift();
    this.isBusy = next !== undefined;
    next?.();
  }

  /** Without a promise for each statement. */
  private runFrom(statements: readonly SqlStatement[], index: number, finish: Callback<undefined>): void {
    const statement = statements[index];
    if (statement === undefined) {
      finish(null, undefined);
      return;
    }
    const { sql, parameters } = statement;
    start<SqlRow[]>(
      (next) => this.execute(sql, parameters, next),
      (error) => (error ? finish(error, undefined) : this.runFrom(statements, index + 1, finish)),
    );
  }

  private execute<Row>(sql: string, parameters: readonly SqlValue[], finish: Callback<Row[]>): void {
    const statement = this.statements.get(sql);
    if (statement === undefined) this.prepareAndRun(sql, parameters, finish);
    else statement.all<Row>(parameters, finish);
  }

  private prepareAndRun<Row>(sql: string, parameters: readonly SqlValue[], finish: Callback<Row[]>): void {
    const statement: Statement = this.handle.prepare(numbered(sql), (error: Error | null) => {
      if (error) {
        finish(error, []);
        return;
      }
      this.statements.set(sql, statement);
      statement.all<Row>(parameters, finish);
    });
  }
}

/** The driver throws synchronously for invalid calls. */
function start<Value>(work: Work<Value>, finish: Callback<Value>): void {
  try {
    work(finish);
  } catch (error) {
    finish(error instanceof Error ? error : new Error(String(error)), undefined as Value);
  }
}

/** SQLite treats `$1` as a name, numbered by first appearance; `?1` is the first parameter wherever it appears. */
function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1');
}

/** What a connection may do with a file; only `create` creates a missing one. */
export type FileUse = 'read' | 'write' | 'create';

export const FLAGS: Readonly<Record<FileUse, number>> = {
  read: sqlite3.OPEN_READONLY,
  write: sqlite3.OPEN_READWRITE,
  create: sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE,
};

/** Milliseconds that TypeORM's connections wait for a lock. */
const BUSY_TIMEOUT = 2000;

/**
 * TypeORM calls `verbose()`, which makes every statement in the process create an error with its parameters in the stack:
 * slow, and a leak. So it gets a driver whose `verbose` does nothing.
 */
const driver = { ...sqlite3, verbose: (): typeof sqlite3 => sqlite3 };

/** How TypeORM opens the file, for migrations and repositories. */
export function typeOrmOptions(path: string, use: FileUse): SqliteConnectionOptions {
  return {
    type: 'sqlite',
    driver,
    database: path,
    flags: FLAGS[use],
    enableWAL: use !== 'read',
    busyTimeout: BUSY_TIMEOUT,
  };
}
