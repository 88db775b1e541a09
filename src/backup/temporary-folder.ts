import { mkdtempSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Gives the work a folder of its own beside a path, on the same disk, and removes it afterwards, whether the work ends, fails
 * or is ended by a signal. `signal` is aborted for what the work has started.
 */
export async function inTemporaryFolder<Result>(
  beside: string,
  work: (folder: string, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const aborting = new AbortController();
  const giveUp = (signal: NodeJS.Signals): void => {
    aborting.abort();
    remove(folder);
    stopListening();
    // Without a listener the signal ends the process at once; an ordinary exit would wait for the driver's threads.
    process.kill(process.pid, signal);
  };
  const stopListening = (): void => SIGNALS.forEach((signal) => void process.off(signal, giveUp));
  // Listeners come first, and nothing is waited for in between: a signal finds the folder there and known, or neither.
  for (const signal of SIGNALS) process.on(signal, giveUp);
  const folder = mkdtempSync(join(dirname(beside), `.${basename(beside)}-`));
  try {
    return await work(folder, aborting.signal);
  } finally {
    remove(folder);
    stopListening();
  }
}

/** Retries, as a thread of the driver may make a file in it meanwhile. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}
