import { type DomainError, unauthorized } from '../../errors/domain-error';
import type { Caller } from '../../ledger/caller';

/**
 * Milliseconds between checks. Together with the delay in hearing from other processes, an end is noticed within a
 * second.
 */
const INTERVAL = 200;

type Watch = () => void;

/** Checks to make while any caller is watched. */
const watches = new Set<Watch>();
let timer: NodeJS.Timeout | null = null;

/**
 * Why a long request must not be continued; null while it may: the caller's key or token has ended, or its agent is
 * suspended. To allow for clock skew, a token may start requests a little after it has expired, but not continue them.
 */
export function endOf({ refusal, expiresAt }: Caller): DomainError | null {
  const isOver = expiresAt !== null && expiresAt <= new Date().toISOString();
  return refusal() ?? (isOver ? unauthorized() : null);
}

/**
 * For a request that has taken long: its body to arrive, or its answer to be read. A public route has no caller.
 * @throws UNAUTHORIZED or PERMISSION_DENIED when the same request would be refused by now.
 */
export function requireAdmitted(caller: Caller | undefined): void {
  const refusal = caller?.refusal() ?? null;
  if (refusal !== null) throw refusal;
}

/**
 * Calls back once, within a second of the moment from which the caller is refused. Returns a function that ends the
 * watch.
 */
export function onCallerEnd(caller: Caller, callBack: (end: DomainError) => void): () => void {
  const watch = (): void => {
    const end = endOf(caller);
    if (end === null) return;
    stop(watch);
    callBack(end);
  };
  watches.add(watch);
  timer ??= setInterval(() => watches.forEach((check) => check()), INTERVAL).unref();
  return () => stop(watch);
}

function stop(watch: Watch): void {
  watches.delete(watch);
  if (watches.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}
