import { type INestApplication, Logger } from '@nestjs/common';
import type { Server } from 'node:http';
import { shutDown } from '../http/shutdown/shut-down';

/** Milliseconds after which the process ends whatever is still running: what was answered is on disk anyway. */
const DEADLINE = 9_500;

const SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/**
 * Stops the application on SIGTERM or SIGINT, even while it is starting, and ends the process with 0. Further signals
 * change nothing: under `npm start` a Ctrl-C arrives twice.
 */
export function stopOnSignals(starting: Promise<INestApplication<Server>>): AbortSignal {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => process.exit(0), DEADLINE);
    void starting
      .then(shutDown)
      .catch((error: unknown) => new Logger('Shutdown').error(error))
      .finally(() => process.exit(0));
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return stopping.signal;
}
