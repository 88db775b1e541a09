import { Module } from '@nestjs/common';
import { LoggerModule } from 'nestjs-pino';
import { Configuration } from '../config/configuration';
import { ApplicationLogger } from './application-logger';
import { logParameters } from './log-parameters';
import { LOG_STREAM, standardOutput } from './log-stream';

/** Structured logs: a line per request, and what the service tells through Nest's `Logger`. */
@Module({
  imports: [
    LoggerModule.forRootAsync({
      providers: [{ provide: LOG_STREAM, useFactory: standardOutput }],
      inject: [Configuration, LOG_STREAM],
      useFactory: logParameters,
    }),
  ],
  providers: [ApplicationLogger],
  exports: [ApplicationLogger],
})
export class LoggingModule {}
