import { type Caller as LedgerCaller, callerOf, type Origin } from '../../ledger/kinds/caller';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import { IdempotentRequest, type RequestContent } from '../../ledger/kinds/idempotent-request';
import type { JsonObject } from '../../core/json/json-value';
import { REPLAYED_HEADER } from '../responses/json-adapter';
import { type Exchange, exchangeParameter, type ServiceRequest } from '../request/service-request';

/** The caller on whose behalf the request acts, for the ledger. */
export const Caller = exchangeParameter((...exchange): LedgerCaller => {
  const [request] = exchange;
  const { caller } = request;
  if (caller === undefined) throw new Error('A public route has no caller, but its handler takes one.');
  const key = keyOf(request);
  if (key === undefined) return caller;
  const { requestId, ip, traceId, gate } = caller;
  const idempotency = idempotentRequest(key, caller, exchange);
  return callerOf(caller, { requestId, ip, traceId, idempotency, ...(gate !== undefined && { gate }) });
});

export type Caller = LedgerCaller;

/** Returns the `Idempotency-Key` of a POST whose response is stored; `RequestInputGuard` has checked its form. */
function keyOf({ method, headers, traits }: ServiceRequest): string | undefined {
  const key = headers['idempotency-key'];
  return method === 'POST' && traits.keepsAnswers && typeof key === 'string' ? key : undefined;
}

/**
 * Makes a POST with an `Idempotency-Key` take effect once: caller, method, path and key identify it; body and query are
 * its content.
 */
function idempotentRequest(key: string, caller: LedgerCaller, [request, response]: Exchange): IdempotentRequest {
  const content = (): RequestContent => ({
    body: request.sent.body as JsonObject,
    query: request.sent.query as JsonObject,
  });
  return new IdempotentRequest([...callerParts(caller), request.method, ...routeOf(request), key], content, () => {
    // The client may already have a response, if it sent too slowly.
    if (!response.headersSent) response.setHeader(REPLAYED_HEADER, 'true');
  });
}

/**
 * Returns the parts that identify a caller. The subject of a token may speak for several agents, with each as a
 * separate caller.
 */
function callerParts({ actor: { type, id }, agentId }: LedgerCaller): string[] {
  return type === 'token' && agentId !== null ? [type, id, agentId] : [type, id];
}

/** Returns the normalised path: percent-encoding, trailing slash, and case of its fixed parts do not count. */
function routeOf({ baseUrl, route, params }: ServiceRequest): string[] {
  const { path } = route as { readonly path: string };
  return [baseUrl.toLowerCase(), path, canonicalJson(params)];
}

/** The client for which limits count the request. */
export const ClientOf = exchangeParameter(({ client }) => client);

/** Origin of the request, for a public route that finds its caller by other means. */
export const RequestOrigin = exchangeParameter(({ id, address, traceId }): Origin => ({
  requestId: id,
  ip: address,
  traceId,
}));
