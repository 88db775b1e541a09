import { Client, type ClientConfig, type QueryConfig, type QueryResult } from 'pg';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseFault } from '../database-fault';
import type { SqlConnection, SqlRow, SqlStatement, SqlValue } from '../sql-connection';
import { connectionFault, endsSession, postgresFault } from './postgres-fault';
import { TimeSlice } from '../../../core/concurrency/time-slice';
import { ServerReach } from './server-reach';

/** Milliseconds for the server to close a session; an unreachable server never does. */
const GOODBYE = 1_000;

/** The longest time of a timer, in milliseconds. */
const ENDLESS = 2 ** 31 - 1;

/** Milliseconds until the state of an unanswered COMMIT is queried for the first time, and then between queries. */
const UNANSWERED = 15_000;
const INTERVAL_MS = 3_000;

/** The SQLSTATE of notices that are not warnings. */
const SUCCESSFUL_COMPLETION = '00000';

/**
 * One session of the server. Statements are pipelined: they are sent without waiting for earlier answers, and the
 * server runs them in order. A lost session stays lost: its owner opens another.
 */
export class PostgresConnection implements SqlConnection {
  isLost = false;
  /** Warnings received since COMMIT was sent. */
  private warnings: string[] = [];
  private isAtWork: (() => Promise<boolean>) | null = null;

  private constructor(
    private readonly client: Client,
    private readonly socket: Socket,
    private readonly reach: ServerReach,
  ) {
    // Without a listener, an error between statements would end the process.
    client.on('error', () => (this.isLost = true));
    client.on('end', () => (this.isLost = true));
    client.on('notice', ({ code, message = '' }) => {
      if (code !== SUCCESSFUL_COMPLETION) this.warnings.push(message);
    });
  }

  /**
   * @param reach detects an unreachable server; without it, statements wait for a silent server, as those must that may
   * take any time
   */
  static async open(config: ClientConfig, reach = new ServerReach(config)): Promise<PostgresConnection> {
    const socket = reach.socket();
    const client = new Client({ ...config, pipeline: true, stream: () => socket });
    const connection = new PostgresConnection(client, socket, reach);
    try {
      await reach.answer(client.connect());
    } catch (error) {
      socket.destroy();
      throw connectionFault(error, config);
    }
    return connection;
  }

  /** Lets the statements in progress finish; then the owner opens another session. */
  abandon(): void {
    this.isLost = true;
  }

  /**
   * Lets COMMIT take any time, as it may wait for a standby.
   * @param isAtWork queries in another session whether the server still works on this session's transaction.
   */
  letCommitWait(isAtWork: () => Promise<boolean>): void {
    // If another server has replaced this one, this session is lost, and its owner looks for the transaction there.
    this.isAtWork = async () => !this.isLost && (await isAtWork());
  }

  async all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    const { rows } = await this.response(this.client.query(preparedQuery(sql, parameters)));
    return rows as Row[];
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    await this.all(sql, parameters);
  }

  async runAll(statements: readonly SqlStatement[]): Promise<void> {
    const turn = new TimeSlice(true);
    const answers: Promise<void>[] = [];
    for (const { sql, parameters } of statements) {
      // Large parameters are encoded here.
      if (turn.isOver) await turn.next();
      const answer = this.run(sql, parameters);
      answer.catch(() => undefined);
      answers.push(answer);
    }
    await Promise.all(answers);
  }

  /** Commits. If the wait for a standby is cancelled, the server only sends a warning. */
  async commit(): Promise<void> {
    this.warnings = [];
    const { command } = await this.response(this.sendCommit());
    // After a failed statement, the server answers COMMIT with success although it rolls back.
    if (command !== 'COMMIT')
      throw new DatabaseFault(
        'programming',
        command,
        'The server rolled the transaction back instead of committing it.',
      );
    if (this.warnings.length > 0) throw new DatabaseFault('unavailable', 'UNCONFIRMED', this.warnings.join(' '));
  }

  private async response(sent: Promise<QueryResult>): Promise<QueryResult> {
    try {
      return await this.reach.answer(sent);
    } catch (error) {
      if (endsSession(error)) this.isLost = true;
      throw postgresFault(error);
    }
  }

  /** Sends COMMIT without a timeout, neither the server's nor the client's, because it may wait for a standby. */
  private async sendCommit(): Promise<QueryResult> {
    const query = preparedQuery('COMMIT', []);
    const { isAtWork } = this;
    if (isAtWork === null) return this.client.query(query);
    const endless = { ...query, query_timeout: ENDLESS };
    const response = new AbortController();
    this.cutWhenLost(isAtWork, response.signal).catch(() => undefined);
    try {
      return await this.client.query(endless);
    } finally {
      response.abort();
    }
  }

  /**
   * Ends the session if COMMIT or its answer was lost on the way, that is, if the server has ended the transaction or
   * never received COMMIT. Waits while the state is unknown. Rejects once the signal is aborted.
   */
  private async cutWhenLost(isAtWork: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    await sleep(UNANSWERED, undefined, { signal });
    while (await isAtWork().catch(() => true)) await sleep(INTERVAL_MS, undefined, { signal });
    if (!signal.aborted) this.socket.destroy(new Error('A COMMIT or its answer was lost.'));
  }

  /** Returns the pid of the server's process for this session. */
  async serverProcess(): Promise<number> {
    const [row] = await this.all<{ pid: number }>('SELECT pg_backend_pid() AS "pid"');
    return row?.pid ?? 0;
  }

  /** Waits for earlier statements, unless the server no longer answers. */
  async close(): Promise<void> {
    const cut = setTimeout(() => this.socket.destroy(), GOODBYE);
    await this.client.end();
    clearTimeout(cut);
  }
}

/** Most prepared statements of a session. Further texts, which only unusual modules have, are parsed each time. */
const MAX_NAMES = 300;

const names = new Map<string, string>();

/** A named statement, which a session plans once and then runs by its name: one name per text. */
export function preparedQuery(sql: string, parameters: readonly SqlValue[]): QueryConfig {
  const name = statementName(sql);
  const query = { text: sql, values: [...parameters] };
  return name === undefined ? query : { ...query, name };
}

function statementName(sql: string): string | undefined {
  const cachedName = names.get(sql);
  if (cachedName !== undefined || names.size >= MAX_NAMES) return cachedName;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}
