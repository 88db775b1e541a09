import { lstatSync, statSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { syncToDisk } from '../../core/files/private-file';
import { DatabaseFault } from '../../ledger/database/database-fault';
import type { SqlConnection } from '../../ledger/database/sql-connection';
import { resolveDatabaseFile, freeSpaceAt } from '../../ledger/database/sqlite/sqlite-file';
import { applyReaderSettings, PASSING_CACHE_SIZE } from '../../ledger/database/sqlite/sqlite-settings';
import { SqliteConnection } from '../../ledger/database/sqlite/sqlite-connection';

const PERMISSIONS = 0o777;

type Warn = (line: string) => void;

/**
 * Writes a consistent snapshot of a SQLite database to a new file, which gets its name only when it is complete, valid
 * and on disk. The service may read and write meanwhile.
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

/** Refuses an existing target, even a broken link: the backup would not be where the link points. */
function refuseExisting(target: string): void {
  if (lstatSync(target, { throwIfNoEntry: false }) === undefined) return;
  throw new UsageError(`${target} exists already, and a backup does not overwrite anything: name a new file.`);
}

function existingDatabase(path: string): string {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) throw new Error(`There is no database ${path}.`);
  return resolveDatabaseFile(path);
}

/** Copies the database in one reading transaction, so that the backup and the service do not wait for each other. */
async function copyDatabase(source: string, copy: string, warn: Warn): Promise<void> {
  const connection = await SqliteConnection.open(source, 'read');
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

/** Makes the error of a failed copy. A damaged page can look like any error, even a full disk. */
function copyingError(source: string, error: unknown): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  const { message } = error;
  return new Error(`${source} cannot be copied: ${message}. Check whether it is damaged: npm run verify -- ${source}`, {
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

/** Fewest bytes that the write-ahead log may need during the copy, if somebody writes. */
const MIN_LOG_BYTES = 64 << 20;
/**
 * Divisor of the database's size for the log's room: under full write load, the log grew by a sixteenth of the copied
 * bytes.
 */
const PART_OF_LOG = 8;

/**
 * Refuses a copy that does not fit on its disk, or that would leave no room on the service's own disk for the
 * write-ahead log, which grows as long as the copy reads. If only the log's disk is short of room, `warn` is called
 * instead, because a backup is worth more than a while without writes.
 */
async function checkRoom(database: string, copy: string, bytes: number, warn: Warn): Promise<void> {
  const log = Math.max(MIN_LOG_BYTES, Math.ceil(bytes / PART_OF_LOG));
  const isOneDisk = deviceOf(database) === deviceOf(copy);
  const [needed, room] = [isOneDisk ? bytes + log : bytes, await freeSpaceAt(copy)];
  if (room < needed)
    throw new Error(`the disk has room for ${room} bytes, and ${needed} are needed. Name another place.`);
  if (isOneDisk) return;
  const left = await freeSpaceAt(database);
  if (left >= log) return;
  warn(
    `The disk of the database has room for ${left} bytes. Its write-ahead log may need ${log} while the copy is made: ` +
      'a service that runs answers writes with 503 once the disk is full, until the backup has ended.',
  );
}

function deviceOf(path: string): number {
  return statSync(dirname(path)).dev;
}

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Gives the work a temporary folder next to a path, on the same disk, and removes it afterwards, whether the work
 * succeeds, fails or is ended by a signal. `signal` is aborted for everything that the work has started.
 */
async function inTemporaryFolder<Result>(
  target: string,
  work: (folder: string, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const aborting = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    aborting.abort();
    remove(folder);
    stopListening();
    // With no listener left, the signal ends the process at once; an ordinary exit would wait for the driver's threads.
    process.kill(process.pid, signal);
  };
  const stopListening = (): void => SIGNALS.forEach((signal) => void process.off(signal, onSignal));
  // Listeners are added first, and nothing is awaited until the folder exists: at a signal, the folder either exists
  // and is known, or does not exist.
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const folder = mkdtempSync(join(dirname(target), `.${basename(target)}-`));
  try {
    return await work(folder, aborting.signal);
  } finally {
    remove(folder);
    stopListening();
  }
}

/** Removes the folder, with retries, because a thread of the driver may still create a file in it. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

const VERIFIER = join(__dirname, '..', '..', '..', 'verifier', 'main.mjs');
/** The verifier's exit code for a database it could not read. */
const UNREADABLE = 2;

/** Result of the offline verifier, as docs/verifier.md describes it. */
export interface Verification {
  readonly valid: boolean;
  readonly entries: number;
  readonly head: { readonly sequence: number; readonly hash: string };
  readonly faults: number;
  readonly firstFaults: readonly { readonly layer: string; readonly place: string; readonly fault: string }[];
}

/** Verifies the chain, the tree and the records of a SQLite file with the offline verifier, in a separate process. */
async function verifyDatabase(path: string, signal: AbortSignal): Promise<Verification> {
  const verifier = spawn(process.execPath, [VERIFIER, path, '--json'], { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const [output, errors] = await Promise.all([
    verifier.stdout.setEncoding('utf8').toArray(),
    verifier.stderr.setEncoding('utf8').toArray(),
    once(verifier, 'close'),
  ]);
  if (verifier.exitCode === null || verifier.exitCode >= UNREADABLE || output.length === 0) {
    throw new Error(`what was written could not be verified. ${errors.join('').trim()}`.trimEnd());
  }
  return JSON.parse(output.join('')) as Verification;
}

/** The error for a command line that cannot be carried out. */
export class UsageError extends Error {}
