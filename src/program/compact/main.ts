import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { configuredDatabase } from '../../core/config/configuration.module';
import { ConfigurationError } from '../../core/config/read-configuration';
import { errorMessage } from '../../core/errors/domain-error';
import { printableText } from '../../core/values/printable-text';
import { preparedConnection } from '../../ledger/database/sql-connection';
import { SqliteConnection } from '../../ledger/database/sqlite/sqlite-connection';
import { lockedDatabase, refuseHardLinks, resolveDatabaseFile } from '../../ledger/database/sqlite/sqlite-file';
import { applyWriterSettings } from '../../ledger/database/sqlite/sqlite-settings';

/** Exit codes. */
const [FAILED, MISUSED] = [1, 2];

const USAGE = `Usage: npm run compact

Rewrites the SQLite database of DATABASE_URL, so that its file no longer holds anything that was deleted or erased. Stop the
service first. This needs free space of twice the size of the database. Earlier backups are not changed.`;

const ON_POSTGRES = 'DATABASE_URL is a PostgreSQL server: run VACUUM FULL there, as docs/privacy.md#erasure describes.';

class MisuseError extends Error {}

async function main(words: readonly string[]): Promise<void> {
  if (words.length > 0) throw new MisuseError(USAGE);
  const database = await configuredDatabase();
  if (database.kind === 'postgres') throw new MisuseError(ON_POSTGRES);
  if (statSync(database.path, { throwIfNoEntry: false }) === undefined)
    throw new MisuseError(`There is no database ${database.path}.`);
  const path = resolveDatabaseFile(database.path);
  // A second name would have a second lock.
  refuseHardLinks(path);
  // No other process may have the file open meanwhile, because it would continue with its cached pages.
  const lock = await lockedDatabase(path);
  try {
    await compact(path);
  } finally {
    await lock.close();
  }
  process.stdout.write(`compacted  ${path}\n`);
}

/**
 * Compacts the file: free pages, and the unused parts of other pages, are not written to the new file. Empties the
 * write-ahead log, too.
 */
async function compact(path: string): Promise<void> {
  const connection = await preparedConnection(SqliteConnection.open(path, 'write'), applyWriterSettings);
  try {
    // The new file is a temporary one at first, on the disk of the database, and not in memory.
    await connection.run('PRAGMA temp_store = FILE');
    await connection.run(`PRAGMA temp_store_directory = '${dirname(path).replaceAll("'", "''")}'`);
    await connection.run('VACUUM');
    await connection.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    await connection.close();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isMisuse = error instanceof MisuseError || error instanceof ConfigurationError;
  const message = errorMessage(error);
  process.stderr.write(isMisuse ? `${message}\n` : `The database was not compacted: ${printableText(message)}\n`);
  process.exitCode = isMisuse ? MISUSED : FAILED;
});
