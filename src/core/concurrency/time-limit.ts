/** The time limits of signals: without them, nothing holds a timer of which only `AbortSignal.any` knows. */
const limits = new WeakMap<AbortSignal, AbortSignal>();

/**
 * Returns a signal that fires with another, or after a time. In Node.js 20, `AbortSignal.any` does not keep the signal
 * of a timer: once that is collected as garbage, it never fires.
 */
export function withTimeLimit(signal: AbortSignal, milliseconds: number): AbortSignal {
  const limit = AbortSignal.timeout(milliseconds);
  const first = AbortSignal.any([signal, limit]);
  limits.set(first, limit);
  return first;
}
