import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

/**
 * The result of the promise, or the other value if that takes longer than the given milliseconds. What has arrived while
 * the process itself was busy counts as in time.
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
