import { lstatSync, statSync } from 'node:fs';
import { chmod, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncToDisk } from '../checkpoints/durable-file';
import { DatabaseFault } from '../database/database-fault';
import type { SqlConnection } from '../database/sql-connection';
import { resolveDatabaseFile } from '../database/sqlite/sqlite-file';
import { applyReaderSettings, PASSING_CACHE_SIZE } from '../database/sqlite/sqlite-settings';
import { SQLITE3 } from '../database/sqlite/sqlite3-file-driver';
import { checkRoom } from './room';
import { inTemporaryFolder } from './temporary-folder';
import { UsageError } from './usage-error';
import { verifyDatabase, type Verification } from './verification';

const PERMISSIONS = 0o777;

type Warn = (line: string) => void;

/**
 * Writes one consistent state of a SQLite database to a new file, which gets its name only when it is on the disk, whole and
 * valid. The service may read and write meanwhile.
 */
export async function writeBackup(databasePath: string, target: string, warn: Warn): Promise<Verification> {
  refuseExisting(target);
  const source = existingDatabase(databasePath);
  return inTemporaryFolder(target, async (folder, signal) => {
    const copy = join(folder, basename(target));
    await copyDatabase(source, copy, warn);
    await syncToDisk(copy);
    const verification = await verifyDatabase(copy, signal);
    if (verification.valid) await putInPlace(copy, target);
    return verification;
  });
}

/** A broken link counts as well: the backup would not be where it points to. */
function refuseExisting(target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return;
  throw new UsageError(`${target} is there already, and a backup does not overwrite anything: name a new file.`);
}

function existingDatabase(path: string): string {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) throw new Error(`There is no database ${path}.`);
  return resolveDatabaseFile(path);
}

/** Reads in one transaction and never writes, so that it neither waits for the service nor lets it wait. */
async function copyDatabase(source: string, copy: string, warn: Warn): Promise<void> {
  const connection = await SQLITE3.open(source, 'read');
  try {
    await applyReaderSettings(connection, PASSING_CACHE_SIZE);
    await checkRoom(source, copy, await sizeOf(connection), warn);
    await connection.run('VACUUM INTO $1', [copy]);
  } catch (error) {
    throw copyingError(source, error);
  } finally {
    await connection.close();
  }
  await chmod(copy, statSync(source).mode & PERMISSIONS);
}

/** A damaged page can look like anything, such as a full disk. */
function copyingError(source: string, error: unknown): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  const { message } = error;
  return new Error(`${source} cannot be copied: ${message}. Look whether it is damaged: npm run verify -- ${source}`, {
    cause: error,
  });
}

async function sizeOf(connection: SqlConnection): Promise<number> {
  const [size] = await connection.all<{ bytes: number }>(
    'SELECT page_count * page_size AS "bytes" FROM pragma_page_count, pragma_page_size',
  );
  return size?.bytes ?? 0;
}

async function putInPlace(copy: string, target: string): Promise<void> {
  refuseExisting(target);
  await rename(copy, target);
  await syncToDisk(dirname(target));
}
