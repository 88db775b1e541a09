import type { SqlConnection, SqlRow, SqlValue } from '../sql-connection';
import { sqliteFault, type SqliteFailure } from './sqlite-fault';

/** What is used of the driver, which may not be installed and so cannot lend its types. */
export type BetterSqlite3 = new (
  path: string,
  options: { readonly readonly?: boolean; readonly fileMustExist?: boolean; readonly timeout?: number },
) => Handle;

interface Handle {
  prepare(sql: string): Statement;
  close(): void;
}

interface Statement {
  /** True when it yields rows; then it must not be `run`. */
  readonly reader: boolean;
  all(parameters: NamedParameters): unknown[];
  run(parameters: NamedParameters): void;
}

/** `$1` is the name `1` to the driver. */
type NamedParameters = Record<string, SqlValue>;

/** A SQLite connection whose statements run at once, on the thread that calls them. */
export class BetterSqlite3Connection implements SqlConnection {
  /** A handle stays usable; what fails is its file. */
  readonly isLost = false;
  private readonly handle: Handle;
  private readonly statements = new Map<string, Statement>();

  constructor(...[driver, path, options]: [BetterSqlite3, ...ConstructorParameters<BetterSqlite3>]) {
    this.handle = faultless(() => new driver(path, options));
  }

  async all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    return faultless(() => {
      const statement = this.prepared(sql);
      if (statement.reader) return statement.all(named(parameters)) as Row[];
      statement.run(named(parameters));
      return [];
    });
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    await this.all(sql, parameters);
  }

  async close(): Promise<void> {
    this.statements.clear();
    faultless(() => this.handle.close());
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

/** By its members: what the driver throws comes from wherever its binary was loaded first, which may have another `Error`. */
function isFailure(error: unknown): error is SqliteFailure {
  return typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';
}

function named(parameters: readonly SqlValue[]): NamedParameters {
  const values: NamedParameters = {};
  parameters.forEach((value, index) => (values[index + 1] = value));
  return values;
}
