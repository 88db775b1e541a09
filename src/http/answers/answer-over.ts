import type { ServerResponse } from 'node:http';
import { type DomainError, unavailable } from '../../errors/domain-error';

/** Calls back once, when the client has received the whole answer or its connection is gone. */
export function onAnswerOver(response: ServerResponse, callBack: () => void): void {
  // Requests of one connection run one at a time, so closing the connection closes this response.
  if (response.closed) callBack();
  else response.once('close', callBack);
}

/** The error with which work is aborted when its client has left: nobody reads it. */
export function clientLeft(): DomainError {
  return unavailable('The client has left.');
}
