const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
/** Milliseconds after the first failure during which a delivery is retried. */
const PATIENCE = 72 * HOUR;
/** Fraction by which a delay varies, so that endpoints that failed together are not retried together. */
const JITTER = 0.1;
const GONE = 410;
const DIGITS = /^\d{1,9}$/;

/** A delivery that was not confirmed. Times are milliseconds since 1970. */
export interface Failure {
  readonly now: number;
  readonly status: number | null;
  /** Header value as the endpoint sent it. */
  readonly retryAfter: string | null;
  /** Number of failed attempts, including this one. */
  readonly attempts: number;
  /** Time of the first failed attempt. */
  readonly since: number;
}

/**
 * Returns the time of the next attempt; null if the endpoint is gone or has failed for too long. @param random number
 * from 0 to 1
 */
export function nextAttemptAt(failure: Failure, random: number): number | null {
  const { now, status, attempts, since, retryAfter } = failure;
  const end = since + PATIENCE;
  if (status === GONE || now >= end) return null;
  const doubled = Math.min(SECOND * 2 ** Math.min(attempts - 1, 30), HOUR);
  const delay = doubled * (1 + JITTER * (2 * random - 1));
  const requestedDelay = Math.min(millisecondsOf(retryAfter, now), HOUR);
  return Math.min(now + Math.max(delay, requestedDelay), end);
}

/** Parses seconds or a date; returns 0 for other texts. */
function millisecondsOf(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  if (DIGITS.test(retryAfter)) return Number(retryAfter) * SECOND;
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
