import type { ServerResponse } from 'node:http';
import { type DomainError, unavailable } from '../../errors/domain-error';

/** Calls back once, when the client has all of its answer or its connection is gone. */
export function onAnswerOver(response: ServerResponse, callBack: () => void): void {
  // Requests of one connection begin one at a time, so the answer is the connection's own and is closed with it.
  if (response.closed) callBack();
  else response.once('close', callBack);
}

/** What work ends with whose client has left: nobody reads it. */
export function clientLeft(): DomainError {
  return unavailable('The client has left.');
}
