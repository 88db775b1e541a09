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

/** Maps a SQLite result code (https://sqlite.org/rescode.html) to a kind of fault. */
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

const NOT_WRITABLE = 'its folder or its files cannot be written. Give this user write permission, or set another path';
const DISK_FULL = 'its disk is full. Make room, then start again';

/**
 * Reasons why a file cannot be opened, by SQLite's primary result code (https://sqlite.org/rescode.html), or by the
 * system's error code if the service creates the file.
 */
const REASONS: Readonly<Record<string, string>> = {
  SQLITE_FULL: DISK_FULL,
  ENOSPC: DISK_FULL,
  EDQUOT: DISK_FULL,
  SQLITE_READONLY: 'it cannot be written. Give this user write permission for the file and its folder',
  SQLITE_CANTOPEN: NOT_WRITABLE,
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EROFS: NOT_WRITABLE,
  SQLITE_PERM: 'this user has no access to it. Give this user read and write permission',
  SQLITE_IOERR: 'the disk reports an error. Check the disk, then start again',
  SQLITE_CORRUPT: 'the file is damaged. Keep it, and restore a backup',
  SQLITE_NOTADB: 'the file is not a database, or its beginning is damaged. Set another path, or restore a backup',
  SQLITE_BUSY: 'another program has locked it. Stop that program, then start again',
};

/**
 * Returns an error whose message states what is wrong with the file and what to do. It replaces the error of the driver
 * or of TypeORM. Other errors are returned unchanged.
 */
export function openingError(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseInUseError) return error;
  // `driverCode` is a member of `DatabaseFault`; `code` of system errors, and of the driver's errors, from which
  // TypeORM copies it to its own.
  const { driverCode, code = driverCode } = error as Error & Readonly<Record<'driverCode' | 'code', unknown>>;
  const reason = REASONS[String(code)];
  if (reason === undefined) return error;
  return new Error(`The database ${path} cannot be opened: ${reason} (${String(code)}).`, { cause: error });
}
