import { type DynamicModule, Logger, Module, Inject, Injectable, type LoggerService } from '@nestjs/common';
import type { DestinationStream, Level, Logger as PinoLogger } from 'pino';
import { Configuration } from '../../core/config/configuration';
import { createLog, LOG, standardOutput } from './log';
import { RequestLog } from './request-log';
import { format } from 'node:util';
import { isNativeError } from 'node:util/types';

/**
 * Contexts of Nest's logs about each module and route, and about the start before the service listens. Operators only
 * need the log line when it listens, and the few lines of the banner.
 */
const START_CONTEXTS: readonly unknown[] = [
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
];
/**
 * Nest logs why a start failed under this name. The error is thrown as well, so the program that starts the application
 * reports it.
 */
const FAILED_START_CONTEXT = 'ExceptionHandler';
/** Recognises a stack: Nest passes some errors as two texts, the message and the stack. */
const STACK = /\n\s*at /;

/**
 * Nest's logger, writing through pino. Log calls about a request pass its id: an `AsyncLocalStorage` for it cost a
 * quarter of the processor time of a request on Node.js 20.
 */
@Injectable()
export class ApplicationLogger implements LoggerService {
  readonly verbose = this.writing('trace');
  readonly debug = this.writing('debug');
  readonly warn = this.writing('warn');
  readonly fatal = this.writing('fatal');

  constructor(@Inject(LOG) private readonly pino: PinoLogger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_CONTEXTS.includes(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write(rest.at(-1) === FAILED_START_CONTEXT ? 'debug' : 'error', message, rest);
  }

  private writing(level: Level): (message: unknown, ...rest: unknown[]) => void {
    return (message, ...rest) => this.write(level, message, rest);
  }

  /** `rest` contains the other arguments of Nest's `Logger`, which may be undefined, and last the logger's context. */
  private write(level: Level, message: unknown, rest: readonly unknown[]): void {
    const texts = rest.slice(0, -1).flatMap((item) => (item === undefined ? [] : [format(item)]));
    const line = rest.length > 0 ? { context: rest.at(-1) } : {};
    if (isNativeError(message)) {
      this.pino[level]({ ...line, err: message }, ...texts);
    } else if (typeof message === 'object') {
      this.pino[level]({ ...line, ...message }, ...texts);
    } else if (texts[0] !== undefined && STACK.test(texts[0])) {
      this.pino[level]({ ...line, err: Object.assign(new Error(format(message)), { stack: texts[0] }) });
    } else {
      this.pino[level](line, format(message), ...texts);
    }
  }
}

/** Structured logs: a line per request, and what the service logs through Nest's `Logger`. */
@Module({
  providers: [ApplicationLogger, RequestLog],
  exports: [ApplicationLogger],
})
export class LoggingModule {
  /**
   * Overrides the logger at once: a start may wait long for a database, and logs that before everything has been made.
   */
  constructor(logger: ApplicationLogger) {
    Logger.overrideLogger(logger);
    Logger.flush();
  }

  /** Writes to `stream`, if given, instead of standard output. */
  static to(stream: DestinationStream = standardOutput()): DynamicModule {
    const useFactory = (configuration: Configuration): PinoLogger => createLog(configuration, stream);
    return { module: LoggingModule, providers: [{ provide: LOG, inject: [Configuration], useFactory }] };
  }
}
