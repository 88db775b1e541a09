import type { ClientConfig } from 'pg';
import { DatabaseFault } from '../database-fault';
import { type SqlRow, type SqlSessions, type SqlValue, preparedConnection } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';
import { requirePrimary, type Primary, type WriterServer } from './writer-server';

/**
 * A pool of sessions for idempotent statements. Each statement goes to the least busy session; sessions that are lost,
 * or on another server than the writer's, are replaced.
 */
export class PostgresSessions implements SqlSessions {
  private readonly sessions: readonly Session[];

  constructor(config: ClientConfig, sessions: number, server: WriterServer) {
    this.sessions = Array.from({ length: sessions }, () => new Session(config, server));
  }

  all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    const session = this.sessions.reduce((least, other) => (other.waiting < least.waiting ? other : least));
    return session.all<Row>(sql, parameters);
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.close()));
  }
}

/** A slot for one session, opened when first needed. */
class Session {
  /** Statements not answered yet. */
  waiting = 0;
  private connection: PostgresConnection | null = null;
  private opening: Promise<PostgresConnection> | null = null;
  private primary: Primary | null = null;
  private isClosed = false;

  constructor(
    private readonly config: ClientConfig,
    private readonly server: WriterServer,
  ) {}

  async all<Row>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]> {
    this.waiting += 1;
    try {
      return await this.attempt(sql, parameters);
    } finally {
      this.waiting -= 1;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.opening?.catch(() => null);
    await this.connection?.close();
  }

  /** Runs a statement, and repeats it in another session if its own is lost. */
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
    if (this.connection?.isLost === false && this.isWithWriter()) return this.connection;
    // A host name may have led an earlier attempt to another server; that failure does not concern this statement.
    const opened = await this.opening?.catch(() => null);
    if (opened) return opened;
    this.opening ??= this.reopen().finally(() => (this.opening = null));
    return this.opening;
  }

  private async reopen(): Promise<PostgresConnection> {
    // The sessions may have been closed while a statement waited for an opening that failed.
    if (this.isClosed) throw new DatabaseFault('unavailable', 'CLOSED', 'The sessions are closed.');
    const previous = this.connection;
    this.connection = null;
    await previous?.close();
    const opening = PostgresConnection.open(this.config, this.server.reach);
    this.connection = await preparedConnection(opening, async (connection) => {
      this.primary = await requirePrimary(connection);
      this.server.require(this.primary);
    });
    return this.connection;
  }

  private isWithWriter(): boolean {
    return this.primary !== null && this.server.is(this.primary);
  }
}
