import { type DestinationStream, type Logger, pino, stdTimeFunctions, destination } from 'pino';
import { isNativeError } from 'node:util/types';
import { createRequire } from 'node:module';
import type * as pretty from 'pino-pretty';
import { type Configuration, secretsOf } from '../../core/config/configuration';
import { shownText } from '../../core/values/shown-text';
import { maskKeys } from './key-mask';

/** Where every log line is written; used only by `ApplicationLogger` and `RequestLog`. */
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
      // JSON may leave characters unescaped that act on a terminal; the line feed at the end is the line's own.
      hooks: { streamWrite: (line) => `${shownText(withoutKeys(line).slice(0, -1))}\n` },
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

/** One per process, however many applications it runs. */
let lines: GatheredLines | null = null;

/** Standard output: JSON for machines, readable lines on a terminal. */
export function standardOutput(): DestinationStream {
  if (process.stdout.isTTY) {
    return readableLines(process.stdout.fd);
  }
  lines ??= gatheredOutput();
  return lines;
}

/** One line of text each, and stack traces: what is logged adds no lines of its own. @param target a file descriptor. */
export function readableLines(target: number): DestinationStream {
  const { build } = createRequire(__filename)('pino-pretty') as typeof pretty;
  const lines = build({ destination: target, sync: true, translateTime: 'SYS:HH:MM:ss.l' });
  return { write: (line) => lines.write(withShownEscapes(line)) };
}

function gatheredOutput(): GatheredLines {
  const gathered = new GatheredLines(destination(process.stdout.fd));
  process.on('exit', () => gathered.flush());
  return gathered;
}

/** Every line begins with its level. */
const URGENT = /^\{"level":"(?:warn|error|fatal)"/;

/**
 * Writes the lines of one turn of the event loop together: a request has only one, but a commit answers hundreds, and
 * each write may have to wait for the disk that is syncing the next commit. Warnings and errors are written at once,
 * after the lines buffered before them.
 */
export class GatheredLines implements DestinationStream {
  private gathered = '';

  constructor(private readonly target: DestinationStream) {}

  write(line: string): void {
    if (this.gathered === '') setImmediate(() => this.flush());
    this.gathered += line;
    if (URGENT.test(line)) this.flush();
  }

  /** To be called when the process ends. */
  flush(): void {
    if (this.gathered === '') return;
    const text = this.gathered;
    this.gathered = '';
    this.target.write(text);
  }
}

/**
 * An escape in JSON that does no harm: of a quotation mark or a slash, or of a line break before a frame of a stack.
 */
const HARMLESS = /^\\["\\/]$|^\\n {4}at $/;

/**
 * A line of JSON whose texts still have these escapes after they are parsed, except line breaks of stack traces: for a
 * program that parses the line and prints its texts on a terminal.
 */
function withShownEscapes(line: string): string {
  return line.replace(/\\(?:n {4}at |u[0-9a-f]{4}|.)/gi, (escape) => (HARMLESS.test(escape) ? escape : `\\${escape}`));
}
