import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorMessage } from '../../../core/errors/domain-error';
import { makeFolder, makePrivateFile } from '../../../core/files/private-file';
import { DatabaseInUseError, DatabaseFault } from '../database-fault';
import { type SqlConnection, preparedConnection } from '../sql-connection';
import { SqliteConnection } from './sqlite-connection';

const MAXIMUM_LINKS = 40;

/**
 * Resolves all links in a configured path: SQLite finds the write-ahead log and the lock by name, so all users of a
 * file must use the same name. Creates a missing folder. Opens nothing: closing a file descriptor of the database would
 * drop SQLite's locks on it.
 */
export function resolveDatabaseFile(configured: string): string {
  let path = resolve(configured);
  for (let followed = 0; followed < MAXIMUM_LINKS; followed += 1) {
    path = join(existingFolder(dirname(path)), basename(path));
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) throw new Error(`The database path ${path} is a folder; name a file in it.`);
    if (stats?.isSymbolicLink() !== true) return path;
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw new Error(`The database path ${configured} is a loop of symbolic links.`);
}

/** Returns the real path of a folder; creates it if it is missing. */
function existingFolder(folder: string): string {
  try {
    makeFolder(folder);
    return realpathSync(folder);
  } catch (error) {
    throw new Error(`The folder of the database, ${folder}, cannot be created or entered: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/**
 * Refuses a file with hard links: a second name would have its own write-ahead log, and both would write the same
 * pages.
 */
export function refuseHardLinks(path: string): void {
  const links = statSync(path, { throwIfNoEntry: false })?.nlink ?? 1;
  if (links > 1) {
    throw new DatabaseInUseError(
      path,
      `the file has ${links} hard links, so it may be open under another name. Keep one name of it.`,
    );
  }
}

/** Refuses a read-only file: SQLite would open it, and fail at the first write. */
export function refuseReadOnly(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return;
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    throw new Error(`The database ${path} cannot be written: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns the free bytes on a file's disk for users other than the superuser. */
export async function freeSpaceAt(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(dirname(path));
  return bavail * bsize;
}

/**
 * Locks a file for this process until the connection is closed, with an exclusive transaction that is kept open. The
 * operating system releases it however the process dies; a file with a process id would not be released, above all in
 * containers.
 * @param patience milliseconds to wait for another process
 */
export async function lockedFile(path: string, patience: number): Promise<SqlConnection> {
  makePrivateFile(path);
  return preparedConnection(SqliteConnection.open(path, 'create'), async (connection) => {
    await connection.run(`PRAGMA busy_timeout = ${patience}`);
    await connection.run('BEGIN EXCLUSIVE');
  });
}

/** Locks the database for this process, by means of a sibling file, until the connection is closed. */
export async function lockedDatabase(path: string): Promise<SqlConnection> {
  try {
    return await lockedFile(`${path}.lock`, 0);
  } catch (error) {
    if (error instanceof DatabaseFault && error.driverCode === 'SQLITE_BUSY') {
      throw new DatabaseInUseError(path, 'stop that one first, or give this one a database of its own.');
    }
    throw error;
  }
}
