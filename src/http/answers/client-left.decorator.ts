import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Exchange } from '../request/service-request';
import { clientLeft, onAnswerOver } from './answer-over';
import { onCallerEnd } from './caller-end';

/**
 * A signal for long work, aborted when the client leaves before it has the whole answer, or when its key, its token or
 * its agent ends or is suspended. Its reason is the error to throw; if the client has left, nobody reads it.
 */
export const ClientLeft = createParamDecorator((_data: unknown, context: ExecutionContext): AbortSignal => {
  const [{ caller }, response] = context.getArgs<Exchange>();
  const leaving = new AbortController();
  const stopWatch = caller === undefined ? null : onCallerEnd(caller, (end) => leaving.abort(end));
  onAnswerOver(response, () => {
    stopWatch?.();
    if (!response.writableFinished) leaving.abort(clientLeft());
  });
  return leaving.signal;
});
