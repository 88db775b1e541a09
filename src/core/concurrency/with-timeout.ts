import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/**
 * Returns the result of the promise, or the fallback if the promise takes longer than the given milliseconds. A result
 * that arrives while the process itself is busy counts as in time.
 */
export async function withTimeout<Result, Otherwise = Result>(
  promise: Promise<Result>,
  milliseconds: number,
  fallback: Otherwise,
): Promise<Result | Otherwise> {
  const enough = new AbortController();
  const limit = sleep(milliseconds, fallback, { signal: enough.signal })
    .then((late) => setImmediate(late))
    .catch(() => fallback);
  return Promise.race([promise, limit]).finally(() => enough.abort());
}
