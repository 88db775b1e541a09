import type { ClientConfig } from 'pg';
import type { SqlConnection, SqlRow, SqlValue } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';

/**
 * Sessions for statements that do no harm when they run twice. A statement goes to the one that has the least to do; lost
 * ones are replaced.
 */
export class PostgresSessions implements SqlConnection {
  readonly isLost = false;
  private readonly sessions: readonly Session[];

  constructor(config: ClientConfig, sessions: number) {
    this.sessions = Array.from({ length: sessions }, () => new Session(config));
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    const session = this.sessions.reduce((least, other) => (other.waiting < least.waiting ? other : least));
    return session.all<Row>(sql, parameters);
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    await this.all(sql, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.close()));
  }
}

/** A place for one session, opened when it is first needed. */
class Session {
  /** Statements that are not answered yet. */
  waiting = 0;
  private connection: PostgresConnection | null = null;
  private opening: Promise<PostgresConnection> | null = null;

  constructor(private readonly config: ClientConfig) {}

  async all<Row>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    this.waiting += 1;
    try {
      return await this.attempt(sql, parameters);
    } finally {
      this.waiting -= 1;
    }
  }

  async close(): Promise<void> {
    await this.connection?.close();
  }

  /** A statement whose session ends under it is repeated in another. */
  private async attempt<Row>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    const connection = await this.current();
    try {
      return await connection.all<Row>(sql, parameters);
    } catch (error) {
      if (!connection.isLost) throw error;
    }
    return (await this.current()).all(sql, parameters);
  }

  private async current(): Promise<PostgresConnection> {
    if (this.connection?.isLost === false) return this.connection;
    this.opening ??= this.reopen().finally(() => (this.opening = null));
    return this.opening;
  }

  private async reopen(): Promise<PostgresConnection> {
    await this.connection?.close();
    this.connection = await PostgresConnection.open(this.config);
    return this.connection;
  }
}
