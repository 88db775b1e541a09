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

export function sqliteFault(error: Error): DatabaseFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'SQLITE_MISUSE';
  return new DatabaseFault(kindOf(code), code, error.message);
}
