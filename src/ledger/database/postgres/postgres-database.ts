import type { DataSourceOptions } from 'typeorm';
import { Database } from '../database';
import type { OpeningOptions, SchemaContribution } from '../start-condition';
import { preparedConnection, type SqlConnection, type SqlSessions } from '../sql-connection';
import { PostgresConnection } from './postgres-connection';
import { migrate } from './postgres-migrations';
import { PostgresLease } from './postgres-lease';
import { PostgresSessions } from './postgres-sessions';
import {
  leaseConfig,
  pointReaderConfig,
  readerConfig,
  serverConfig,
  transactionReaderConfig,
  writerConfig,
} from './postgres-settings';
import { ServerReach } from './server-reach';
import {
  type ServerState,
  primaryOf,
  requireDurability,
  requirePrimary,
  SELECT_PRIMARY,
  WriterServer,
} from './writer-server';
import type { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { type Dialect, quoteName } from '../dialect';

/**
 * Numbers of sessions for each kind of reading; with those of the writer, the lease, webhooks and a verification there
 * are at most twelve.
 */
const SESSIONS = { points: 2, lists: 3, chain: 1, repositories: 2 };

/**
 * Finds a server process whose commit is still in progress: the transaction keeps its number until the standby has it.
 * A session that is idle in a transaction waits for its client, not for a standby.
 */
const SELECT_AT_WORK = `SELECT 1 FROM pg_stat_activity WHERE "pid" = $1 AND "backend_xid" IS NOT NULL
  AND "state" IS DISTINCT FROM 'idle in transaction'`;
const SELECT_DEAD_ROWS = 'SELECT pg_stat_get_dead_tuples($1::regclass) AS "count"';

/** A database on a server, which several processes may write: the lock on the head row serialises their batches. */
export class PostgresDatabase extends Database {
  readonly dialect = POSTGRES_DIALECT;
  readonly isShared = true;
  readonly location: string;
  readonly points: SqlSessions;
  readonly lists: SqlSessions;
  readonly chain: SqlSessions;
  readonly sideConnection: SqlSessions;
  private readonly lease: PostgresLease;
  private readonly reach: ServerReach;
  private readonly server: WriterServer;
  private writer: PostgresConnection | null = null;

  private constructor(
    private readonly url: string,
    protected readonly schema: SchemaContribution,
  ) {
    super();
    this.location = postgresLocation(url);
    this.reach = new ServerReach(serverConfig(url));
    this.reach.whenCutOff = () => this.whenCutOff();
    const server = new WriterServer(this.reach, () => this.writer?.abandon());
    this.server = server;
    this.points = new PostgresSessions(pointReaderConfig(url), SESSIONS.points, server);
    this.lists = new PostgresSessions(readerConfig(url), SESSIONS.lists, server);
    this.chain = new PostgresSessions(readerConfig(url), SESSIONS.chain, server);
    this.sideConnection = new PostgresSessions(leaseConfig(url), 1, server);
    this.lease = new PostgresLease(new PostgresSessions(leaseConfig(url), 1, server), this.lists);
  }

  static async open(url: string, { schema, check }: OpeningOptions): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(url, schema);
    await migrate(url, schema, (connection) =>
      check({ location: database.location, dialect: database.dialect, connection }),
    );
    try {
      await database.lease.begin();
    } catch (error) {
      await database.close();
      throw error;
    }
    database.reach.begin();
    return database;
  }

  get isCutOff(): boolean {
    return this.reach.isCutOff;
  }

  get processId(): string {
    return this.lease.processId;
  }

  get runner(): string | null {
    return this.lease.runner;
  }

  async openWriter(requireSound: (connection: SqlConnection) => Promise<void>): Promise<SqlConnection> {
    return preparedConnection(PostgresConnection.open(writerConfig(this.url), this.reach), async (connection) => {
      const checks = [requirePrimary(connection), connection.serverProcess(), requireDurability(connection)] as const;
      const [primary, pid] = await Promise.all(checks);
      this.server.requireLatest(primary);
      await requireSound(connection);
      this.server.moveTo(primary);
      connection.letCommitWait(() => this.isAtWork(pid));
      this.writer = connection;
    });
  }

  /** True if a commit is still in progress. @param pid process at the server; its transaction has changed something */
  private async isAtWork(pid: number): Promise<boolean> {
    return (await this.points.all(SELECT_AT_WORK, [pid])).length > 0;
  }

  async openReader(): Promise<SqlConnection> {
    const opening = PostgresConnection.open(transactionReaderConfig(this.url), this.reach);
    return preparedConnection(opening, async (connection) => this.server.require(await requirePrimary(connection)));
  }

  /** Does nothing: the log belongs to the server, and docs/privacy.md names its archive. */
  async truncateLog(): Promise<boolean> {
    return true;
  }

  /** The server keeps its files; a working connection writes to them. */
  isInPlace(): boolean {
    return true;
  }

  /** The server's disk cannot be inspected from here: the commit of a probe shows when it is full. */
  async hasRoom(): Promise<boolean> {
    return true;
  }

  async deadRows(table: string): Promise<number> {
    const [row] = await this.points.all<{ count: number }>(SELECT_DEAD_ROWS, [table]);
    return row?.count ?? 0;
  }

  repositoryOptions(): DataSourceOptions {
    return {
      type: 'postgres',
      extra: { ...repositoryPool(readerConfig(this.url), this.server), max: SESSIONS.repositories },
      entities: [...this.schema.tables],
      // The pool replaces a session lost while idle; without a listener the process would end.
      poolErrorHandler: () => undefined,
    };
  }

  findEndedProcesses(names: readonly string[]): Promise<readonly string[]> {
    return this.lease.findEndedProcesses(names);
  }

  protected async release(): Promise<void> {
    await this.lease.end();
    await Promise.all([this.points, this.lists, this.chain, this.sideConnection].map((sessions) => sessions.close()));
    this.reach.end();
  }
}

/** Location of the records for messages, without a password. */
export function postgresLocation(url: string): string {
  const { host = '', port = 5432, database = '' } = serverConfig(url);
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}

/** Options of TypeORM's own pool, so that its sessions are on the writer's server too. */
interface RepositoryPool extends ClientConfig {
  /** Called for each new session before it is used; throwing rejects the session. */
  onConnect(client: Client): Promise<void>;
}

function repositoryPool(config: ClientConfig, server: WriterServer): RepositoryPool {
  const sockets = new Set<Socket>();
  // The pool replaces sessions whose sockets are destroyed.
  server.onMoved(() => sockets.forEach((socket) => socket.destroy()));
  return {
    ...config,
    stream: () => {
      const socket = server.reach.socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
    onConnect: async (client) => {
      const { rows } = await client.query<ServerState>(SELECT_PRIMARY);
      server.require(primaryOf(rows[0]));
    },
  };
}

/** `jsonb` is parsed once for all columns of a row; `json` would be parsed again for each. */
export const POSTGRES_DIALECT: Dialect = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  beginReading: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  query: (names) => ({
    sql:
      `SELECT found.name AS "name", CASE WHEN relkind NOT IN ('r', 'p') THEN relkind::text ` +
      // False for a role that the policies do not apply to, such as a superuser.
      `WHEN row_security_active(oid) THEN 'filtered' ELSE 'table' END AS "type" ` +
      `FROM jsonb_array_elements_text($1::jsonb) AS found(name) JOIN pg_class ON oid = to_regclass(quote_ident(found.name))`,
    parameters: [JSON.stringify(names)],
  }),
  clock: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "now"',
  lockRow: ' FOR UPDATE',
  jsonElements: (parameter) => `jsonb_array_elements(${parameter}::jsonb) AS item(value)`,
  jsonMember: (column, name) => `((${column})::json -> '${name}')::text`,
  jsonAt: (index, { type }) => (type === 'integer' ? `(item.value ->> ${index})::bigint` : `item.value ->> ${index}`),
  // The server's planner has statistics, so it needs no hint.
  unindexed: (column) => column,
  unlikely: (condition) => condition,
  jsonRows: (columns) => `json_agg(json_build_array(${columns.map(quoteName).join(', ')}))::text`,
  // The cast to JSON rejects texts that are not JSON, and changes nothing.
  jsonText: ({ name, type }) =>
    `COALESCE(${type === 'json' ? `${quoteName(name)}::json` : `to_json(${quoteName(name)})`}::text, 'null')`,
  // The server stores only valid text, which drivers do not alter.
  position: (column) => column,
  placeAt: (parameter) => parameter,
  storageForms: null,
};
