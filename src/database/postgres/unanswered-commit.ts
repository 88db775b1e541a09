import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds until the server is asked about a COMMIT that it has not answered, and then between questions. */
const UNANSWERED = 15_000;
const INTERVAL = 3_000;

/**
 * Awaits the answer to a COMMIT. It may take any time, as the server may be waiting for a standby; but where the COMMIT or
 * its answer was lost on the way, it would never come.
 * @param isAtWork asks the server whether it is still at work on the transaction. While nobody knows, it is waited for.
 * @param cut ends the session whose transaction the server is done with, or has never been told to commit.
 */
export async function unlessLost<Answer>(
  answer: Promise<Answer>,
  isAtWork: () => Promise<boolean>,
  cut: () => unknown,
): Promise<Answer> {
  const answered = new AbortController();
  cutWhenLost(isAtWork, cut, answered.signal).catch(() => undefined);
  try {
    return await answer;
  } finally {
    answered.abort();
  }
}

/** Rejects once the signal is aborted. */
async function cutWhenLost(isAtWork: () => Promise<boolean>, cut: () => unknown, signal: AbortSignal): Promise<void> {
  await sleep(UNANSWERED, undefined, { signal });
  while (await isAtWork().catch(() => true)) await sleep(INTERVAL, undefined, { signal });
  if (!signal.aborted) cut();
}
