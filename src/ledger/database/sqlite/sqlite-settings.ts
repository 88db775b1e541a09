import type { SqlConnection, SqlValue } from '../sql-connection';

/** Milliseconds that a statement waits for a lock. */
export const BUSY_TIMEOUT_MS = 2_000;
/** Bytes to which a write-ahead log is truncated when it restarts after a long reader made it grow. */
const LOG_LIMIT = 32 << 20;

/**
 * Required settings of the writer's connection. `synchronous` FULL (2) syncs the write-ahead log at every commit;
 * NORMAL, which enabling the log can leave behind, loses acknowledged writes in a power failure. `temp_store` MEMORY
 * (2) keeps the pages that a statement may have to restore in memory; otherwise most commits would make a temporary
 * file. `secure_delete` overwrites what is deleted or replaced.
 */
const WRITER_SETTINGS: readonly (readonly [name: string, value: string, readBack: SqlValue])[] = [
  ['journal_mode', 'WAL', 'wal'],
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
  ['busy_timeout', String(BUSY_TIMEOUT_MS), BUSY_TIMEOUT_MS],
  ['secure_delete', 'ON', 1],
  ['journal_size_limit', String(LOG_LIMIT), LOG_LIMIT],
  ['cache_size', '-16384', -16384],
  ['temp_store', 'MEMORY', 2],
];

/** Applies each setting, reads it back, and throws if it did not take effect. */
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

/** Page cache of a connection, in kibibytes. */
const CACHE_SIZE = 16_384;
/**
 * Page cache, in kibibytes, of a connection that reads everything once and in order: it never needs a cached page
 * again.
 */
export const PASSING_CACHE_SIZE = 2_048;

export async function applyReaderSettings(connection: SqlConnection, cacheSize = CACHE_SIZE): Promise<void> {
  await connection.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  await connection.run(`PRAGMA cache_size = -${cacheSize}`);
}
