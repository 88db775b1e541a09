import { DatabaseFault, type FaultKind } from '../database-fault';

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

/** Of an extended code, such as SQLITE_CONSTRAINT_UNIQUE, which only some drivers tell, the primary one. */
function primaryCode(code: string): string {
  return /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? 'SQLITE_MISUSE';
}

/** What the drivers throw. */
export interface SqliteFailure {
  readonly message: string;
  readonly code?: unknown;
}

export function sqliteFault(error: SqliteFailure): DatabaseFault {
  const code = typeof error.code === 'string' ? primaryCode(error.code) : 'SQLITE_MISUSE';
  return new DatabaseFault(kindOf(code), code, error.message);
}
