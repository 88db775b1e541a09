import type { SqlConnection, SqlValue } from '../sql-connection';

/** Bytes that are left of a write-ahead log which a long reader made grow, once it begins anew. */
const LOG_LIMIT = 32 << 20;

/**
 * What the writer's connection must stand at. `synchronous` FULL (2) syncs the write-ahead log at every commit; NORMAL,
 * which turning the log on can leave behind, loses acknowledged writes when the power goes.
 */
const WRITER_SETTINGS: readonly (readonly [name: string, value: string, readBack: SqlValue])[] = [
  ['journal_mode', 'WAL', 'wal'],
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
  ['busy_timeout', '2000', 2000],
  ['journal_size_limit', String(LOG_LIMIT), LOG_LIMIT],
  ['cache_size', '-16384', -16384],
];

/** Sets each, reads it back, and refuses to go on when one did not take. */
export async function applyWriterSettings(connection: SqlConnection): Promise<void> {
  for (const [name, value, expected] of WRITER_SETTINGS) {
    await connection.run(`PRAGMA ${name} = ${value}`);
    const [row] = await connection.all(`PRAGMA ${name}`);
    const actual = Object.values(row ?? {})[0];
    if (actual !== expected) {
      throw new Error(`SQLite keeps ${name} at ${String(actual)} where ${value} is needed for durable writes.`);
    }
  }
}

/** Kibibytes of pages a connection keeps. */
const CACHE_SIZE = 16_384;
/** For one that reads everything once, in order: what it keeps it does not see again. */
export const PASSING_CACHE_SIZE = 2_048;

export async function applyReaderSettings(connection: SqlConnection, cacheSize = CACHE_SIZE): Promise<void> {
  await connection.run('PRAGMA busy_timeout = 2000');
  await connection.run(`PRAGMA cache_size = -${cacheSize}`);
}
