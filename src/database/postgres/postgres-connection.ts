import { Client, type ClientConfig, type QueryConfig } from 'pg';
import type { Socket } from 'node:net';
import { DatabaseFault } from '../database-fault';
import type { SqlConnection, SqlRow, SqlValue } from '../sql-connection';
import { connectionFault, endsSession, postgresFault } from './postgres-fault';
import { ServerReach } from './server-reach';

/** Milliseconds a server gets to say goodbye; one that is gone never does. */
const GOODBYE = 1_000;

/** What notices carry that are not warnings. */
const SUCCESSFUL_COMPLETION = '00000';

/**
 * One session of the server. Statements are sent as they are called, without waiting for the answers to earlier ones; the
 * server runs them in that order. A lost session stays lost: whoever has it opens another.
 */
export class PostgresConnection implements SqlConnection {
  private lost = false;
  /** Since COMMIT was sent. */
  private warnings: string[] = [];

  private constructor(
    private readonly client: Client,
    private readonly socket: Socket,
    private readonly reach: ServerReach,
  ) {
    // Without a listener, an error between statements would end the process.
    client.on('error', () => (this.lost = true));
    client.on('end', () => (this.lost = true));
    client.on('notice', ({ code, message = '' }) => {
      if (code !== SUCCESSFUL_COMPLETION) this.warnings.push(message);
    });
  }

  /** @param reach without it, such as for statements that may take any time, a silent server is waited for. */
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

  /** What is under way is finished; then its owner opens another. */
  abandon(): void {
    this.lost = true;
  }

  get isLost(): boolean {
    return this.lost;
  }

  async all<Row = SqlRow>(sql: string, parameters: readonly SqlValue[] = []): Promise<Row[]> {
    try {
      if (sql === 'COMMIT') {
        await this.commit();
        return [];
      }
      const { rows } = await this.reach.answer(this.client.query(preparedQuery(sql, parameters)));
      return rows as Row[];
    } catch (error) {
      if (endsSession(error)) this.lost = true;
      throw postgresFault(error);
    }
  }

  async run(sql: string, parameters: readonly SqlValue[] = []): Promise<void> {
    await this.all(sql, parameters);
  }

  /** The server ends a statement's time before it waits for a standby. A wait that is cancelled is answered with a warning. */
  private async commit(): Promise<void> {
    this.warnings = [];
    const { command } = await this.reach.answer(this.client.query(preparedQuery('COMMIT', [])));
    requireCommit(command);
    if (this.warnings.length > 0) throw new DatabaseFault('unavailable', 'UNCONFIRMED', this.warnings.join(' '));
  }

  /** Waits for what was called before, but not for a server that does not answer any more. */
  async close(): Promise<void> {
    const cut = setTimeout(() => this.socket.destroy(), GOODBYE);
    await this.client.end();
    clearTimeout(cut);
  }
}

/** The server answers a COMMIT after a failed statement with success, and rolls back. */
function requireCommit(command: string): void {
  if (command === 'COMMIT') return;
  throw new DatabaseFault('programming', command, 'The server rolled the transaction back instead of committing it.');
}

/** Each session keeps what it has prepared; texts beyond this number, which only odd modules have, are parsed anew. */
const MOST_NAMES = 300;

const names = new Map<string, string>();

/** A statement that a session plans once and then runs by its name: one name for each text. */
export function preparedQuery(sql: string, parameters: readonly SqlValue[]): QueryConfig {
  const name = nameOf(sql);
  const query = { text: sql, values: [...parameters] };
  return name === undefined ? query : { ...query, name };
}

function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}
