import { DatabaseFault } from '../database-fault';
import type { SqlConnection } from '../sql-connection';

/**
 * Identifies a primary server. Copies of a database share its system identifier, but one that is promoted has a later
 * timeline. It does not change during a session.
 */
export interface Primary {
  readonly system: string;
  /** Eight hexadecimal digits. */
  readonly timeline: string;
}

export interface FoundServer {
  readonly system: string;
  readonly timeline: string | null;
}

/** Fixes `synchronous_commit` for the session, so that reloading the server's settings does not change it. */
const SELECT_SETTINGS = `SELECT current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "full_page_writes",
  set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS "synchronous_commit",
  current_setting('server_encoding') AS "server_encoding"`;
/** A standby has no timeline of its own. */
export const SELECT_PRIMARY = `SELECT (SELECT "system_identifier"::text FROM pg_control_system()) AS "system",
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS "timeline"`;

/**
 * Refuses a server that would acknowledge writes that are not on its disk, or that cannot store what it is given.
 * Checked in every session that writes: settings may differ by user and database, and change while the service runs.
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
  const [row] = await connection.all<FoundServer>(SELECT_PRIMARY);
  return primaryOf(row);
}

export function primaryOf(found: FoundServer | undefined): Primary {
  const { system = '', timeline = null } = found ?? {};
  if (timeline === null) throw refusal('server is a standby, which cannot write. Name the primary.');
  return { system, timeline };
}

function refusal(what: string): DatabaseFault {
  return new DatabaseFault('unavailable', 'SETTINGS', `The PostgreSQL ${what}`);
}
