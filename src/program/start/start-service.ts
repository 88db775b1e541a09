import { Logger, type INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { Configuration } from '../../core/config/configuration';
import { ReadSettings } from '../../core/config/read-configuration';
import { type AppOptions, createApp } from '../../create-app';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import { banner, localUrl } from './banner';
import { ZONES_VERSION } from '../../core/values/time-zone';
import { startFailure } from './start-failure';
import { shutDown } from '../../http/server/shutdown';

const log = new Logger('Main');

/**
 * Runs the service as the process's only task: listens on HOST and PORT, prints the banner, stops on SIGTERM and
 * SIGINT. A failed start prints the reason and ends the process with the exit code for it.
 */
export async function startService(options: AppOptions = {}): Promise<void> {
  process.on('uncaughtException', endAtOnce);
  // The banner and the log are not worth the service: their disk may be full, and their reader may end.
  process.stdout.on('error', () => undefined);
  const starting = createApp(options);
  const stopping = stopOnSignals(starting);
  try {
    const application = await starting;
    if (stopping.aborted) return;
    const { host, port } = application.get(Configuration);
    await application.listen(port, host);
    log.log(`The service listens on ${host} port ${portOf(application)}.`);
    process.stdout.write(bannerOf(application));
  } catch (error) {
    if (stopping.aborted) return;
    const { message, exitCode } = startFailure(error);
    process.stderr.write(`${message}\n`);
    process.exit(exitCode);
  }
}

function bannerOf(application: NestExpressApplication): string {
  const configuration = application.get(Configuration);
  return banner({
    database: application.get(Database).location,
    zones: ZONES_VERSION,
    head: application.get(LedgerService).head,
    url: localUrl(configuration.host, portOf(application)),
    hasConsole: configuration.consoleEnabled,
    hasDocs: configuration.swaggerEnabled,
    generatedKey: configuration.apiKeyGenerated ? configuration.apiKey : null,
    warnings: application.get(ReadSettings).warnings,
  });
}

function portOf(application: NestExpressApplication): number {
  return (application.getHttpServer().address() as AddressInfo).port;
}

/** Ends the process. After an uncaught error, the state in memory cannot be trusted, but the state on disk can. */
function endAtOnce(error: Error): void {
  log.fatal(error);
  process.exit(1);
}

/** Milliseconds until the process ends even if work is still running: all answered writes are on disk. */
const DEADLINE = 9_500;

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/**
 * Stops the application on SIGTERM or SIGINT, even while it is starting, and ends the process with 0. Further signals
 * change nothing: under `npm start` a Ctrl-C arrives twice.
 */
export function stopOnSignals(starting: Promise<INestApplication<Server>>): AbortSignal {
  const stopping = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    log.log(`${signal}: what has been received is answered, the rest is refused.`);
    setTimeout(() => process.exit(0), DEADLINE);
    void starting
      .then(shutDown)
      .then(
        () => log.log('The service has stopped.'),
        (error: unknown) => log.error(error),
      )
      .finally(() => process.exit(0));
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return stopping.signal;
}
