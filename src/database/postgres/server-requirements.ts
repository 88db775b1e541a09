import { DatabaseFault } from '../database-fault';
import type { SqlConnection } from '../sql-connection';

/** Fixes `synchronous_commit` for the session, so that a reload of the server's settings does not change it. */
const SELECT_SETTINGS = `SELECT current_setting('fsync') AS "fsync", current_setting('full_page_writes') AS "full_page_writes",
  set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS "synchronous_commit",
  current_setting('server_encoding') AS "server_encoding", pg_is_in_recovery()::text AS "standby"`;

/**
 * Refuses a server that would acknowledge what is not on its disk, or that cannot keep what it is given. Asked in every
 * session that writes: the settings may differ by user and database, and change while the service runs.
 */
export async function requireDurability(connection: SqlConnection): Promise<void> {
  const [settings = {}] = await connection.all<Record<string, string>>(SELECT_SETTINGS);
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    if (settings[name] === 'off')
      throw refusal(`server runs with ${name}=off, which loses acknowledged writes. Turn it on.`);
  }
  if (settings['server_encoding'] !== 'UTF8') throw refusal('database must have the encoding UTF8.');
  if (settings['standby'] === 'true') throw refusal('server is a standby, which cannot write. Name the primary.');
}

function refusal(what: string): DatabaseFault {
  return new DatabaseFault('unavailable', 'SETTINGS', `The PostgreSQL ${what}`);
}
