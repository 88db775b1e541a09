import { isNativeError } from 'node:util/types';

/** What a log line says about an error. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
}

/**
 * Keeps the four members that help and drops every other: TypeORM's QueryFailedError carries the statement and its
 * parameters, which are the clients' content. A value that is no error passes as it is.
 */
export function serializeError(error: unknown): unknown {
  if (!isNativeError(error)) return error;
  const { message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  return {
    type: error.constructor.name,
    message,
    ...(stack !== undefined && { stack }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
  } satisfies LoggedError;
}
