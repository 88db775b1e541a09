import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Caller as LedgerCaller } from '../ledger/caller';
import { idempotentRequest } from './idempotency/idempotency-key';
import { clientAddress } from './rate-limit/client-address';
import { exchangeOf } from './service-request';

/** Holder of the API key; the key carries no role of its own. */
const OPERATOR = { type: 'api_key', id: 'env' } as const;

/** On whose behalf the request acts, for the ledger. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): LedgerCaller => {
  const [request, response] = exchangeOf(context);
  const caller = { actor: OPERATOR, requestId: request.id, ip: clientAddress(request) };
  const idempotency = idempotentRequest(request, response, OPERATOR);
  return idempotency === undefined ? caller : { ...caller, idempotency };
});

export type Caller = LedgerCaller;
