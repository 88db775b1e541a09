/**
 * Consequence of a failed statement for later ones.
 * - `constraint`: the data broke a rule of the schema; only the command that brought it is at fault.
 * - `unavailable`: the database cannot work now (full, locked, read-only, gone); a retry may succeed.
 * - `busy`: another process held a lock for too long; the database and the connection work.
 * - `storage`: the disk reported an error, so the contents of the page cache cannot be trusted.
 * - `programming`: the statement itself is wrong.
 */
export type FaultKind = 'constraint' | 'unavailable' | 'busy' | 'storage' | 'programming';

/** A failed statement, without its SQL and parameters: they may hold contents that must not reach a log. */
export class DatabaseFault extends Error {
  constructor(
    readonly kind: FaultKind,
    readonly driverCode: string,
    message: string,
  ) {
    super(message);
    this.name = 'DatabaseFault';
  }
}

/** The fault of a database that is no longer in place: see `Database.isInPlace`. */
export function movedAway(): DatabaseFault {
  return new DatabaseFault('unavailable', 'MOVED', 'The database this process began with is no longer at its place.');
}

/** True if the error is a failed statement of one of the kinds. */
export function isFault(error: unknown, ...kinds: readonly FaultKind[]): error is DatabaseFault {
  return error instanceof DatabaseFault && kinds.includes(error.kind);
}

/** Another process is using this database; two writers would fork the chain. The process ends with exit code 75. */
export class DatabaseInUseError extends Error {
  constructor(path: string, why: string) {
    super(`The database ${path} is in use by another process: ${why}`);
    this.name = 'DatabaseInUseError';
  }
}
