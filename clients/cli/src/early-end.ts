/** What ends a command early, and the exit code that shells expect then. */
const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

type CleanUp = () => void | Promise<void>;

const cleanUps = new Set<CleanUp>();
let isWatched = false;

/** What is done first if the command is ended early, as by Ctrl-C, even if it was done already. A second Ctrl-C ends it at once. */
export function beforeEarlyEnd(cleanUp: CleanUp): void {
  cleanUps.add(cleanUp);
  if (!isWatched) for (const [signal, exitCode] of SIGNALS) process.once(signal, () => void endEarly(exitCode));
  isWatched = true;
}

/** Ends the command as a signal would. */
export async function endEarly(exitCode: number): Promise<void> {
  await Promise.allSettled([...cleanUps].map(async (cleanUp) => cleanUp()));
  process.exit(exitCode);
}
