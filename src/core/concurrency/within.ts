import { setTimeout as sleep } from 'node:timers/promises';

/** The result of the promise, or the other value if that takes longer than the given milliseconds. */
export async function within<Result>(
  promise: Promise<Result>,
  milliseconds: number,
  otherwise: Result,
): Promise<Result> {
  const enough = new AbortController();
  const limit = sleep(milliseconds, otherwise, { signal: enough.signal }).catch(() => otherwise);
  return Promise.race([promise, limit]).finally(() => enough.abort());
}
