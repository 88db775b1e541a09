/** Signals that end a command early, each with the exit code that shells expect. */
const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

type CleanUp = () => void | Promise<void>;

const cleanUps = new Set<CleanUp>();
let isWatched = false;

/**
 * Runs a task before the command is ended early, for example by Ctrl-C; it may run twice. A second Ctrl-C ends the
 * command at once.
 */
export function beforeEarlyEnd(cleanUp: CleanUp): void {
  cleanUps.add(cleanUp);
  if (!isWatched) for (const [signal, exitCode] of SIGNALS) process.once(signal, () => void endEarly(exitCode));
  isWatched = true;
}

/** Ends the command with the exit code of a signal. */
export async function endEarly(exitCode: number): Promise<void> {
  await Promise.allSettled([...cleanUps].map(async (cleanUp) => cleanUp()));
  process.exit(exitCode);
}
