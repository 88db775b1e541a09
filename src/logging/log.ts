import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { Configuration } from '../config/configuration';
import { secretsOf } from '../config/secrets';
import { serializeError } from './error-serializer';
import { maskKeys } from './key-mask';

/** Where every line of the application is written, by `ApplicationLogger` and `RequestLog` alone. */
export const LOG = Symbol('LOG');

/** One JSON object a line, without keys and passwords. */
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
