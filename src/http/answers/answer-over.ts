import type { ServerResponse } from 'node:http';
import { type DomainError, unavailable } from '../../errors/domain-error';

/** Calls back once, when the client has all of its answer or its connection is gone. */
export function onAnswerOver(response: ServerResponse, callBack: () => void): void {
  const { socket } = response.req;
  const over = (): void => {
    socket.off('close', over);
    response.off('close', over);
    callBack();
  };
  response.once('close', over);
  // A response whose turn has not come on its connection does not close with it.
  socket.once('close', over);
  if (socket.destroyed) over();
}

/** What work ends with whose client has left: nobody reads it. */
export function clientLeft(): DomainError {
  return unavailable('The client has left.');
}
