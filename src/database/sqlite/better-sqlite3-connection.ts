import type { SqlConnection, SqlRow, SqlStatement, SqlValue } from '../sql-connection';
import { sqliteFault, type SqliteFailure } from './sqlite-fault';

/** The part of the driver that is used. The driver may not be installed, so its types cannot be imported. */
export type BetterSqlite3 = new (
  path: string,
  options: { readonly readonly?: boolean; readonly fileMustExist?: boolean; readonly timeout?: number },
) => Handle;

interface Handle {
  prepare(sql: string): Statement;
  close(): void;
}

interface Statement {
  /** True if it returns rows; then `run` must not be used. */
  readonly reader: boolean;
  all(parameters: NamedParameters): unknown[];
  run(parameters: NamedParameters): void;
}

/** To the driver, `$1` is the name `1`. */
type NamedParameters = Record<string, SqlValue>;

/** A SQLite connection whose statements run synchronously, on the calling thread. */
export class BetterSqlite3Connection implements SqlConnection {
  /** A handle stays usable; only its file can fail. */
  readonly isLost = false;
  private readonly handle: Handle;
  private readonly statements = new Map<string, Statement>();

  constructor(...[driver, path, options]: [BetterSqlite3, ...ConstructorParameters<BetterSqlite3>]) {
    this.handle = faultless(() => new driver(path, options));
  }

  async all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    return this.execute(sql, parameters) as Row[];
  }

  run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    return this.runAll([{ sql, parameters }]);
  }

  async runAll(statements: readonly SqlStatement[]): Promise<void> {
    for (const { sql, parameters } of statements) this.execute(sql, parameters);
  }

  async close(): Promise<void> {
    this.statements.clear();
    faultless(() => this.handle.close());
  }

  private execute(sql: string, parameters: readonly SqlValue[]): unknown[] {
    return faultless(() => {
      const statement = this.prepared(sql);
      if (statement.reader) return statement.all(named(parameters));
      statement.run(named(parameters));
      return [];
    });
  }

  private prepared(sql: string): Statement {
    const known = this.statements.get(sql);
    if (known !== undefined) return known;
    const made = this.handle.prepare(sql);
    this.statements.set(sql, made);
    return made;
  }
}

/** Turns the driver's errors into `DatabaseFault`s. */
function faultless<Value>(call: () => Value): Value {
  try {
    return call();
  } catch (error) {
    throw sqliteFault(isFailure(error) ? error : new Error(String(error)));
  }
}

/**
 * By its members: the driver's errors come from the realm that first loaded its binary, which may have another `Error`.
 */
function isFailure(error: unknown): error is SqliteFailure {
  return typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';
}

function named(parameters: readonly SqlValue[]): NamedParameters {
  const values: NamedParameters = {};
  parameters.forEach((value, index) => (values[index + 1] = value));
  return values;
}
