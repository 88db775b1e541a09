import { type DomainError, unauthorized } from '../../errors/domain-error';
import type { Caller } from '../../ledger/caller';

/** Milliseconds between looks. With what it takes to hear of other processes, an end shows within a second. */
const INTERVAL = 200;

type Watch = () => void;

/** Looks that are to be taken while anybody is watched. */
const watches = new Set<Watch>();
let timer: NodeJS.Timeout | null = null;

/**
 * Why a request that takes long is not to be answered any further; null while it is: the caller's key or token has ended, or
 * its agent is suspended. A token that has ended begins requests for a little longer, as clocks differ; it continues none.
 */
export function endOf({ refusal, expiresAt }: Caller): DomainError | null {
  const isOver = expiresAt !== null && expiresAt <= new Date().toISOString();
  return refusal() ?? (isOver ? unauthorized() : null);
}

/** Calls back once, within a second of the moment from which the caller may ask nothing any more. Returns how to stop that. */
export function onCallerEnd(caller: Caller, callBack: (end: DomainError) => void): () => void {
  const watch = (): void => {
    const end = endOf(caller);
    if (end === null) return;
    stop(watch);
    callBack(end);
  };
  watches.add(watch);
  timer ??= setInterval(() => watches.forEach((look) => look()), INTERVAL).unref();
  return () => stop(watch);
}

function stop(watch: Watch): void {
  watches.delete(watch);
  if (watches.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}
