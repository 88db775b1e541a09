import * as sqlite3 from 'sqlite3';
import { Database, type Statement } from 'sqlite3';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions';
import { SerialQueue } from '../../../core/concurrency/serial-queue';
import type { SqlConnection, SqlRow, SqlStatement, SqlValue } from '../sql-connection';
import { type SqliteFailure, sqliteFault } from './sqlite-fault';
import { BUSY_TIMEOUT_MS } from './sqlite-settings';

/**
 * A SQLite connection. The driver would run statements of one connection on several threads of the pool, where all but
 * one wait for the connection's mutex; here they queue, so that a slow list occupies one thread and not the pool.
 */
export class SqliteConnection implements SqlConnection {
  /** A handle stays usable; only its file can fail. */
  readonly isLost = false;
  private readonly statements = new Map<string, Statement>();
  private readonly queue = new SerialQueue();

  private constructor(private readonly handle: Database) {}

  static async open(path: string, use: FileUse): Promise<SqliteConnection> {
    const handle = await new Promise<Database>((resolve, reject) => {
      const handle: Database = new Database(path, FLAGS[use], (error) => {
        if (error) reject(sqliteFault(error));
        else resolve(handle);
      });
    });
    return new SqliteConnection(handle);
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    return this.queue.run(() => this.execute<Row>(sql, parameters));
  }

  run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    return this.runAll([{ sql, parameters }]);
  }

  /** Stops at the first failure. */
  runAll(statements: readonly SqlStatement[]): Promise<void> {
    return this.queue.run(async () => {
      for (const { sql, parameters } of statements) await this.execute(sql, parameters);
    });
  }

  commit(): Promise<void> {
    return this.run('COMMIT');
  }

  /** Waits for earlier calls. */
  close(): Promise<void> {
    return this.queue.run(async () => {
      for (const statement of this.statements.values()) statement.finalize();
      this.statements.clear();
      await called<undefined>((done) => this.handle.close((error) => done(error, undefined)));
    });
  }

  private async execute<Row>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    const statement = this.statements.get(sql) ?? (await this.prepared(sql));
    return called((done) => statement.all<Row>(parameters, done));
  }

  private async prepared(sql: string): Promise<Statement> {
    const statement = await called<Statement>((done) => {
      const statement: Statement = this.handle.prepare(numbered(sql), (error: Error | null) => done(error, statement));
    });
    this.statements.set(sql, statement);
    return statement;
  }
}

/** Promisifies a call of the driver, which throws at once for invalid calls. */
function called<Value>(call: (done: (error: Error | null, value: Value) => void) => void): Promise<Value> {
  return new Promise<Value>((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value)));
  }).catch((error: unknown) => {
    throw sqliteFault(error as SqliteFailure);
  });
}

/**
 * Replaces `$1` by `?1`: SQLite treats `$1` as a name, numbered by first appearance, and `?1` as the first parameter.
 */
function numbered(sql: string): string {
  return sql.replace(/\$(\d+)/g, '?$1');
}

/** Access of a connection to a file; only `create` creates a missing one. */
type FileUse = 'read' | 'write' | 'create';

export const FLAGS: Readonly<Record<FileUse, number>> = {
  read: sqlite3.OPEN_READONLY,
  write: sqlite3.OPEN_READWRITE,
  create: sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE,
};

/**
 * Driver for TypeORM, whose `verbose` does nothing. The real one makes every statement in the process create an error
 * with its parameters in the stack: slow, and a leak.
 */
const driver = { ...sqlite3, verbose: (): typeof sqlite3 => sqlite3 };

/** Options with which TypeORM opens the file, for migrations and repositories. */
export function typeOrmOptions(path: string, use: FileUse): SqliteConnectionOptions {
  return {
    type: 'sqlite',
    driver,
    database: path,
    flags: FLAGS[use],
    enableWAL: use !== 'read',
    busyTimeout: BUSY_TIMEOUT_MS,
  };
}
