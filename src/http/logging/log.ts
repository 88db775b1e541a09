import { type DestinationStream, type Logger, pino, stdTimeFunctions, destination } from 'pino';
import { isNativeError } from 'node:util/types';
import { createRequire } from 'node:module';
import type * as pretty from 'pino-pretty';
import { type Configuration, secretsOf } from '../../core/config/configuration';
import { printableText } from '../../core/values/printable-text';
import { maskKeys } from './key-mask';

/** Token of the destination of log lines; used only by `ApplicationLogger` and `RequestLog`. */
export const LOG = Symbol('LOG');

/** One JSON object per line, without keys and passwords. */
export function createLog(configuration: Configuration, stream: DestinationStream): Logger {
  const withoutKeys = maskKeys(secretsOf(configuration));
  return pino(
    {
      level: configuration.logLevel,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: serializeError, error: serializeError },
      formatters: { level: (level) => ({ level }) },
      // JSON may contain unescaped characters that act on a terminal. The line feed at the end is the line's own.
      hooks: { streamWrite: (line) => `${printableText(withoutKeys(line).slice(0, -1))}\n` },
    },
    stream,
  );
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
  };
}

/** Bytes of lines that wait for the disk. Further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 2 ** 20;

/**
 * Standard output: JSON for machines, readable lines on a terminal. For speed, JSON is written 4 KiB at a time, or
 * every 100 ms, without waiting for the disk. The rest is written when the process ends, unless the disk is full.
 */
export function standardOutput(): DestinationStream {
  const { fd, isTTY } = process.stdout;
  if (isTTY) return readableLines(fd);
  const lines = destination({ dest: fd, minLength: 4096, periodicFlush: 100, maxLength: MAX_WAITING_BYTES });
  let isFailing = false;
  lines.on('error', () => (isFailing = true));
  lines.on('write', () => (isFailing = false));
  const flushSync = lines.flushSync.bind(lines);
  // It would wait for a full disk without end, also when the process is to end.
  lines.flushSync = () => {
    if (!isFailing) flushSync();
  };
  return lines;
}

/**
 * Destination of readable lines, one per text, and of stack traces; a logged text adds no lines of its own. @param
 * target file descriptor
 */
export function readableLines(target: number): DestinationStream {
  const { build } = createRequire(__filename)('pino-pretty') as typeof pretty;
  const lines = build({ destination: target, sync: true, translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => lines.write(withShownEscapes(line)) };
}

/** A harmless escape in JSON: of a quotation mark or a slash, or of a line break before a frame of a stack. */
const HARMLESS = /^\\["\\/]$|^\\n {4}at $/;

/**
 * Escapes a line of JSON once more, except line breaks of stack traces, for a program that parses the line and prints
 * its texts on a terminal.
 */
function withShownEscapes(line: string): string {
  return line.replace(/\\(?:n {4}at |u[0-9a-f]{4}|.)/gi, (escape) => (HARMLESS.test(escape) ? escape : `\\${escape}`));
}
