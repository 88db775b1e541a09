import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { unavailable } from '../errors/domain-error';
import { exchangeOf } from './service-request';

/**
 * A signal that is aborted when the client leaves before it was answered whole, for work that takes long. Its reason is
 * what the work may end with: nobody reads it.
 */
export const ClientLeft = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  const [{ socket }, response] = exchangeOf(context);
  const leaving = new AbortController();
  const leave = (): void => leaving.abort(unavailable('The client has left.'));
  // A response whose turn has not come on its connection does not close with it.
  socket.once('close', leave);
  response.once('close', () => {
    socket.off('close', leave);
    if (!response.writableFinished) leave();
  });
  if (socket.destroyed) leave();
  return leaving.signal;
});
