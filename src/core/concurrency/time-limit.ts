/** Maps each returned signal to its time limit, so that the limit is not collected as garbage before it fires. */
const limits = new WeakMap<AbortSignal, AbortSignal>();

/**
 * Returns a signal that fires when `signal` does or when the time is over. In Node.js 20, `AbortSignal.any` does not
 * keep the signal of a timer in memory, and a collected timer never fires.
 */
export function withTimeLimit(signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  const first = AbortSignal.any([signal, limit]);
  limits.set(first, limit);
  return first;
}
