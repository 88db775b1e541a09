import { type DynamicModule, Logger, Module } from '@nestjs/common';
import type { DestinationStream } from 'pino';
import { Configuration } from '../../core/config/configuration';
import { ApplicationLogger } from './application-logger';
import { createLog, LOG, LOG_STREAM, standardOutput } from './log';
import { RequestLog } from './request-log';

/** Structured logs: a line per request, and what the service logs through Nest's `Logger`. */
@Module({
  providers: [
    { provide: LOG_STREAM, useFactory: standardOutput },
    { provide: LOG, inject: [Configuration, LOG_STREAM], useFactory: createLog },
    ApplicationLogger,
    RequestLog,
  ],
  exports: [ApplicationLogger],
})
export class LoggingModule {
  /** At once, not only when everything has been made: a start may wait long for a database, and says so. */
  constructor(logger: ApplicationLogger) {
    Logger.overrideLogger(logger);
    Logger.flush();
  }

  /** Writes to `stream`, if given, instead of standard output. */
  static to(stream: DestinationStream | undefined): DynamicModule {
    const destination = { provide: LOG_STREAM, useFactory: () => stream ?? standardOutput() };
    return { module: LoggingModule, providers: [destination] };
  }
}
