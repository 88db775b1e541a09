import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { exchangeOf } from '../service-request';
import { clientLeft, onAnswerOver } from './answer-over';

/**
 * A signal that is aborted when the client leaves before it was answered whole, for work that takes long. Its reason is
 * what the work may end with: nobody reads it.
 */
export const ClientLeft = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  const [, response] = exchangeOf(context);
  const leaving = new AbortController();
  onAnswerOver(response, () => {
    if (!response.writableFinished) leaving.abort(clientLeft());
  });
  return leaving.signal;
});
