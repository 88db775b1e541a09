import { Database, OPEN_READWRITE, type Statement } from 'sqlite3';

export type Value = string | number | null;
export type Row = Record<string, Value>;

/** The driver with nothing but promises around it; set to what the service sets it to. */
export class RawDatabase {
  private readonly statements = new Map<string, Statement>();

  private constructor(private readonly handle: Database) {}

  static async open(path: string): Promise<RawDatabase> {
    const handle = await new Promise<Database>((resolve, reject) => {
      const opened = new Database(path, OPEN_READWRITE, (error) => (error === null ? resolve(opened) : reject(error)));
    });
    const database = new RawDatabase(handle);
    for (const setting of ['journal_mode=WAL', 'synchronous=FULL', 'foreign_keys=ON', 'cache_size=-65536']) {
      await database.all(`PRAGMA ${setting}`);
    }
    return database;
  }

  all(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.statement(sql).all<Row>(parameters, (error, rows) => (error === null ? resolve(rows) : reject(error)));
    });
  }

  close(): Promise<void> {
    for (const statement of this.statements.values()) statement.finalize();
    return new Promise((resolve, reject) => {
      this.handle.close((error) => (error === null ? resolve() : reject(error)));
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
