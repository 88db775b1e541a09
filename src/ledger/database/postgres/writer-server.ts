import { DatabaseFault } from '../database-fault';
import type { ServerReach } from './server-reach';
import type { SqlConnection } from '../sql-connection';

/**
 * The server of the writer's session. A host name or a load balancer may lead other sessions elsewhere, such as to a
 * primary that was replaced: what they read there is outdated, or was never committed.
 */
export class WriterServer {
  private primary: Primary | null = null;
  /** Servers of sessions that were opened before the writer's first. */
  private readonly early: Primary[] = [];
  private readonly whenMoved: (() => void)[] = [];

  /** @param onReplaced called when another primary has taken over from the writer's */
  constructor(
    readonly reach: ServerReach,
    private readonly onReplaced: () => void,
  ) {}

  /** Throws if another primary, on which an earlier session was, has replaced this one. */
  requireLatest(primary: Primary): void {
    const newer = this.previous.find((other) => replaces(other, primary));
    if (newer !== undefined) throw elsewhere(primary, `was replaced by the one on timeline ${newer.timeline}`);
  }

  /** Sets the primary of the writer's session; all other sessions must be on it from now on. */
  moveTo(primary: Primary): void {
    this.requireLatest(primary);
    const { previous } = this;
    this.primary = primary;
    const hasMoved = !previous.every((other) => this.is(other));
    this.early.length = 0;
    if (hasMoved) this.whenMoved.forEach((listener) => listener());
  }

  is(primary: Primary): boolean {
    return this.primary === null || isSame(this.primary, primary);
  }

  /** Throws if a session is on another primary. If that primary has replaced the writer's, notifies the writer. */
  require(primary: Primary): void {
    if (this.primary === null && !this.early.some((other) => isSame(other, primary))) this.early.push(primary);
    if (this.is(primary)) return;
    if (this.primary !== null && replaces(primary, this.primary)) this.onReplaced();
    throw elsewhere(primary, "is not the writer's");
  }

  /** Registers a listener for sessions that cannot be checked before each use. */
  onMoved(listener: () => void): void {
    this.whenMoved.push(listener);
  }

  private get previous(): readonly Primary[] {
    return this.primary === null ? this.early : [this.primary];
  }
}

function isSame(one: Primary, other: Primary): boolean {
  return one.system === other.system && one.timeline === other.timeline;
}

function replaces(primary: Primary, previous: Primary): boolean {
  return primary.system === previous.system && primary.timeline > previous.timeline;
}

function elsewhere({ system, timeline }: Primary, why: string): DatabaseFault {
  const message = `The PostgreSQL server (system ${system}, timeline ${timeline}) ${why}.`;
  return new DatabaseFault('unavailable', 'ELSEWHERE', message);
}

/**
 * Identifies a primary server. Copies of a database share its system identifier, but one that is promoted has a later
 * timeline. It does not change during a session.
 */
export interface Primary {
  readonly system: string;
  /** Eight hexadecimal digits. */
  readonly timeline: string;
}

export interface ServerState {
  readonly system: string;
  readonly timeline: string | null;
}

/** Fixes `synchronous_commit` for the session, so that reloading the server's settings does not change it. */
const SELECT_SETTINGS = `SELECT current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "full_page_writes",
  set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS "synchronous_commit",
  current_setting('server_encoding') AS "server_encoding"`;
/** Selects the primary of a session. A standby has no timeline of its own. */
export const SELECT_PRIMARY = `SELECT (SELECT "system_identifier"::text FROM pg_control_system()) AS "system",
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS "timeline"`;

/**
 * Refuses a server that would acknowledge writes that are not on its disk, or that cannot store all contents. Runs in
 * every session that writes: settings may differ by user and database, and change while the service runs.
 */
export async function requireDurability(connection: SqlConnection): Promise<void> {
  const [settings = {}] = await connection.all<Record<string, string>>(SELECT_SETTINGS);
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    if (settings[name] === 'off')
      throw refusal(`server runs with ${name}=off, which loses acknowledged writes. Turn it on.`);
  }
  if (settings['server_encoding'] !== 'UTF8') throw refusal('database must have the encoding UTF8.');
}

/** Refuses a standby, and returns the primary that the session is on. */
export async function requirePrimary(connection: SqlConnection): Promise<Primary> {
  const [row] = await connection.all<ServerState>(SELECT_PRIMARY);
  return primaryOf(row);
}

export function primaryOf(server: ServerState | undefined): Primary {
  const { system = '', timeline = null } = server ?? {};
  if (timeline === null) throw refusal('server is a standby, which cannot write. Name the primary.');
  return { system, timeline };
}

function refusal(reason: string): DatabaseFault {
  return new DatabaseFault('unavailable', 'SETTINGS', `The PostgreSQL ${reason}`);
}
