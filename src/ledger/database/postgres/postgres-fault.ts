import { type ClientConfig, DatabaseError } from 'pg';
import { errorMessage } from '../../../core/errors/domain-error';
import { DatabaseFault, type FaultKind } from '../database-fault';

/**
 * Classes of SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html. A server that hits a disk error
 * stops and recovers on its own; afterwards it only returns what is on its disk. To us it is just unavailable for a
 * while.
 */
const KIND_OF_CLASS: ReadonlyMap<string, FaultKind> = new Map<string, FaultKind>([
  ['08', 'unavailable'], // connection
  ['23', 'constraint'],
  ['25', 'unavailable'], // transaction state: read-only server, session that idled too long
  ['26', 'unavailable'], // prepared statement gone: the session is not the one it was prepared in
  ['40', 'unavailable'], // transaction rolled back: deadlock
  ['53', 'unavailable'], // resources: disk full, memory, connections
  ['55', 'unavailable'], // object not in the state that is needed
  ['57', 'unavailable'], // operator: timeout, shutdown
  ['58', 'unavailable'], // system
  ['XX', 'unavailable'], // internal
]);

/** SQLSTATE after an earlier statement failed and its error was swallowed: a command contains the bug. */
const FAILED_BEFORE = '25P02';

const LOCK_NOT_AVAILABLE = '55P03';

/** SQLSTATEs with which the server ends a session: shutdown, crash, startup, too long idle in a transaction. */
const LAST_WORDS = new Set(['57P01', '57P02', '57P03', '57P05', '25P03']);

/** Errors that do not come from the server come from the network or the driver: the session is unusable. */
export function postgresFault(error: unknown): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  if (error instanceof DatabaseError) return new DatabaseFault(kindOf(error), error.code ?? 'XX000', error.message);
  return new DatabaseFault('unavailable', codeOf(error), errorMessage(error));
}

export function endsSession(error: unknown): boolean {
  if (error instanceof DatabaseError) return LAST_WORDS.has(error.code ?? '');
  return !(error instanceof DatabaseFault);
}

/** Makes the fault for a session that could not be opened. A later attempt may succeed, whatever the reason. */
export function connectionFault(error: unknown, { host, port, database }: ClientConfig): DatabaseFault {
  const place = `${host ?? ''}${port === undefined ? '' : `:${port}`}/${database ?? ''}`;
  const message = `No connection to the PostgreSQL database ${place}: ${errorMessage(error)}`;
  return new DatabaseFault('unavailable', codeOf(error), message);
}

function kindOf({ code = '' }: DatabaseError): FaultKind {
  if (code === FAILED_BEFORE) return 'programming';
  if (code === LOCK_NOT_AVAILABLE) return 'busy';
  return KIND_OF_CLASS.get(code.slice(0, 2)) ?? 'programming';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'CONNECTION';
}
