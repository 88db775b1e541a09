import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Exchange } from '../request/service-request';
import { clientLeft, onAnswerOver } from './answer-over';
import { onCallerEnd } from './caller-end';

/**
 * A signal for work that takes long, aborted when the client leaves before it was answered whole, or its key, its token or its
 * agent's activity ends. Its reason is what the work may end with: in the first case nobody reads it.
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
