import { DatabaseFault, type FaultKind, DatabaseInUseError } from '../database-fault';

const UNAVAILABLE = new Set([
  'SQLITE_FULL',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_NOMEM',
  'SQLITE_INTERRUPT',
  'SQLITE_PROTOCOL',
]);
const STORAGE = new Set(['SQLITE_IOERR', 'SQLITE_CORRUPT', 'SQLITE_NOTADB']);

/** Result codes: https://sqlite.org/rescode.html */
function kindOf(code: string): FaultKind {
  if (code === 'SQLITE_CONSTRAINT') return 'constraint';
  if (UNAVAILABLE.has(code)) return 'unavailable';
  return STORAGE.has(code) ? 'storage' : 'programming';
}

/** An error as the driver throws it. */
export interface SqliteFailure {
  readonly message: string;
  readonly code?: unknown;
}

export function sqliteFault(error: SqliteFailure): DatabaseFault {
  const code = typeof error.code === 'string' ? error.code : 'SQLITE_MISUSE';
  return new DatabaseFault(kindOf(code), code, error.message);
}

const NOT_WRITABLE = 'its folder or its files cannot be written. Give this user the right to, or name another place';
const DISK_FULL = 'its disk is full. Make room, then start again';

/**
 * Reasons why a file cannot be opened, by SQLite's primary result code (https://sqlite.org/rescode.html), or by the
 * system's error code if the service creates the file.
 */
const REASONS: Readonly<Record<string, string>> = {
  SQLITE_FULL: DISK_FULL,
  ENOSPC: DISK_FULL,
  EDQUOT: DISK_FULL,
  SQLITE_READONLY: 'it cannot be written. Give this user the right to write the file and its folder',
  SQLITE_CANTOPEN: NOT_WRITABLE,
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EROFS: NOT_WRITABLE,
  SQLITE_PERM: 'this user has no right to it',
  SQLITE_IOERR: 'the disk reports an error. Check the disk, then start again',
  SQLITE_CORRUPT: 'the file is damaged. Keep it, and restore a backup',
  SQLITE_NOTADB: 'the file is not a database, or its beginning is damaged. Name another file, or restore a backup',
  SQLITE_BUSY: 'another program holds its lock. End that one, then start again',
};

/**
 * Makes an error for people that says what is wrong with the file and what to do, in place of the driver's or
 * TypeORM's.
 */
export function openingError(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseInUseError) return error;
  // The code is on our error, or on the driver's, which TypeORM's contains.
  const { driverCode, code = driverCode } = error as Error & Readonly<Record<'driverCode' | 'code', unknown>>;
  const reason = REASONS[String(code)];
  if (reason === undefined) return error;
  return new Error(`The database ${path} cannot be opened: ${reason} (${String(code)}).`, { cause: error });
}
