import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { type Configuration, secretsOf } from '../config/configuration';
import { maskKeys } from './key-mask';
import { isNativeError } from 'node:util/types';

/** Where every log line is written; used only by `ApplicationLogger` and `RequestLog`. */
export const LOG = Symbol('LOG');

/** One JSON object per line, without keys and passwords. */
export function createLog(configuration: Configuration, stream: DestinationStream): Logger {
  return pino(
    {
      level: configuration.logLevel,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: serializeError, error: serializeError },
      formatters: { level: (level) => ({ level }) },
      hooks: { streamWrite: maskKeys(secretsOf(configuration)) },
    },
    stream,
  );
}

/** What a log line says about an error. */
interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string | number;
}

/**
 * Keeps the four members that help and drops every other: TypeORM's QueryFailedError has the statement and its
 * parameters, which are the clients' content. A value that is not an error is passed on unchanged.
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
