import { Database, OPEN_READWRITE, type Statement } from 'sqlite3';
import type { RawDatabase, RawStatement, Row, Value } from './raw-database';

export class RawSqlite implements RawDatabase {
  private readonly statements = new Map<string, Statement>();

  private constructor(private readonly handle: Database) {}

  static async open(path: string): Promise<RawSqlite> {
    const handle = await new Promise<Database>((resolve, reject) => {
      const database = new Database(path, OPEN_READWRITE, (error) =>
        error === null ? resolve(database) : reject(error),
      );
    });
    const database = new RawSqlite(handle);
    for (const setting of ['journal_mode=WAL', 'synchronous=FULL', 'foreign_keys=ON', 'cache_size=-65536']) {
      await database.all(`PRAGMA ${setting}`);
    }
    return database;
  }

  async begin(): Promise<Row | undefined> {
    await this.all('BEGIN IMMEDIATE');
    return (await this.all('SELECT * FROM ledger_head WHERE id = 1'))[0];
  }

  async runTogether(statements: readonly RawStatement[]): Promise<Row[][]> {
    const results: Row[][] = [];
    for (const [sql, parameters] of statements) results.push(await this.all(sql, parameters));
    return results;
  }

  close(): Promise<void> {
    for (const statement of this.statements.values()) statement.finalize();
    return new Promise((resolve, reject) => {
      this.handle.close((error) => (error === null ? resolve() : reject(error)));
    });
  }

  private all(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.statement(sql).all<Row>(parameters, (error, rows) => (error === null ? resolve(rows) : reject(error)));
    });
  }

  private statement(sql: string): Statement {
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.handle.prepare(sql);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}
