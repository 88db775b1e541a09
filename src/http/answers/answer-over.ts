import type { ServerResponse } from 'node:http';
import { type DomainError, unavailable } from '../../errors/domain-error';

/** Calls back once, when the client has received the whole answer or its connection is gone. */
export function onAnswerOver(response: ServerResponse, callBack: () => void): void {
  // Requests of one connection run one at a time, so closing the connection closes this response.
  if (response.closed) callBack();
  else response.once('close', callBack);
}

/**
 * Calls back when the handler or the exception filter answers, even if the client has left: `close` would fire at once
 * then, while the work is still under way with all that it holds.
 */
export function onAnswer(response: ServerResponse, callBack: () => void): void {
  const end = response.end.bind(response) as (...parameters: unknown[]) => ServerResponse;
  Object.assign(response, {
    end: (...parameters: unknown[]) => {
      callBack();
      return end(...parameters);
    },
  });
}

/** The error with which work is aborted when its client has left: nobody reads it. */
export function clientLeft(): DomainError {
  return unavailable('The client has left.');
}
