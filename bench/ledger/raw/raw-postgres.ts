import { Client, type QueryResult } from 'pg';
import { type RawDatabase, type RawStatement, type Row, ROWS } from './raw-database';

/** PostgreSQL by its driver. Statements are prepared once, and sent without waiting for the answers to earlier ones. */
export class RawPostgres implements RawDatabase {
  private readonly names = new Map<string, string>();

  private constructor(private readonly client: Client) {}

  static async open(url: string): Promise<RawPostgres> {
    const client = new Client({ connectionString: url, pipeline: true });
    await client.connect();
    return new RawPostgres(client);
  }

  async begin(): Promise<Row | undefined> {
    const [, heads] = await this.runTogether([
      ['BEGIN', []],
      ['SELECT * FROM ledger_head WHERE id = 1 FOR UPDATE', []],
    ]);
    return heads?.[0];
  }

  async runTogether(statements: readonly RawStatement[]): Promise<Row[][]> {
    const results = await Promise.all(
      statements.map(([sql, values]): Promise<QueryResult<Row>> => {
        const text = sql.replace(ROWS, 'jsonb_array_elements($1::jsonb) AS item(value)');
        return this.client.query<Row>({ name: this.statementName(text), text, values: [...values] });
      }),
    );
    return results.map(({ rows }) => rows);
  }

  close(): Promise<void> {
    return this.client.end();
  }

  private statementName(sql: string): string {
    let name = this.names.get(sql);
    if (name === undefined) {
      name = `statement ${this.names.size}`;
      this.names.set(sql, name);
    }
    return name;
  }
}
