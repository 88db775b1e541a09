import { setTimeout as sleep } from 'node:timers/promises';

/** What the promise comes to, or the other value when that takes longer than the milliseconds given. */
export async function within<Result>(
  promise: Promise<Result>,
  milliseconds: number,
  otherwise: Result,
): Promise<Result> {
  const enough = new AbortController();
  const limit = sleep(milliseconds, otherwise, { signal: enough.signal }).catch(() => otherwise);
  return Promise.race([promise, limit]).finally(() => enough.abort());
}
