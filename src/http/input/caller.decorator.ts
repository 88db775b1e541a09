import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type Caller as LedgerCaller, callerOf, type Origin } from '../../ledger/caller';
import { idempotentRequest } from './idempotency-key';
import type { Exchange } from '../request/service-request';

/** On whose behalf the request acts, for the ledger. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): LedgerCaller => {
  const [request, response] = context.getArgs<Exchange>();
  const { caller } = request;
  if (caller === undefined) throw new Error('A public route asked for its caller, but has none.');
  const key = request.idempotencyKey;
  if (key === undefined) return caller;
  const { requestId, ip, traceId } = caller;
  const idempotency = idempotentRequest(key, request, response, caller);
  return callerOf(caller, { requestId, ip, traceId, idempotency });
});

export type Caller = LedgerCaller;

/** Where the request comes from, for a public route that finds its caller by other means. */
export const RequestOrigin = createParamDecorator((_data: unknown, context: ExecutionContext): Origin => {
  const [{ id, address, traceId }] = context.getArgs<Exchange>();
  return { requestId: id, ip: address, traceId };
});
