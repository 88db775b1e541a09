import type { ServerResponse } from 'node:http';
import { type DomainError, unavailable, unauthorized } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import { type Exchange, exchangeParameter } from '../request/service-request';

/** Calls back once, when the client has received the whole answer or its connection is gone. */
export function onAnswerOver(response: ServerResponse, callBack: () => void): void {
  // Requests of one connection run one at a time, so closing the connection closes this response.
  if (response.closed) callBack();
  else response.once('close', callBack);
}

/**
 * Milliseconds between checks. Together with the delay in hearing from other processes, an end is noticed within a
 * second.
 */
const INTERVAL_MS = 200;

/**
 * Returns why a long request must not continue; null if it may: the caller's key or token has ended, or its agent is
 * suspended. To allow for clock skew, a token may start requests a little after it has expired, but not continue them.
 */
export function staleCallerError({ refusal, expiresAt }: Caller): DomainError | null {
  const isOver = expiresAt !== null && expiresAt <= new Date().toISOString();
  return refusal() ?? (isOver ? unauthorized() : null);
}

/**
 * Returns the request's signal for long work. It is aborted when the client leaves before it has the whole response, or
 * when its key or token ends, or its agent is suspended. Its reason is the error to throw; if the client has left,
 * nobody reads it.
 */
export function leavingSignal(...[request, response]: Exchange): AbortSignal {
  request.clientSignal ??= signalFor(request, response);
  return request.clientSignal;
}

function signalFor(...[{ caller }, response]: Exchange): AbortSignal {
  const signal = new AbortController();
  const check = (): void => {
    const end = caller === undefined ? null : staleCallerError(caller);
    if (end !== null) signal.abort(end);
  };
  const timer = setInterval(check, INTERVAL_MS).unref();
  onAnswerOver(response, () => {
    clearInterval(timer);
    if (!response.writableFinished) signal.abort(unavailable('The client has left.'));
  });
  return signal.signal;
}

/** The signal of {@link leavingSignal}, as a parameter of a handler. */
export const ClientSignal = exchangeParameter(leavingSignal);
