import type { Response } from 'express';
import type { FieldFault } from '../../core/errors/domain-error';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import type { Caller } from '../../ledger/caller';
import { IdempotentRequest } from '../../ledger/idempotent-request';
import type { JsonObject } from '../../core/json/json-value';
import { REPLAYED } from '../answers/json-adapter';
import type { ServiceRequest } from '../request/service-request';

/** In lower case, as Node presents header names. */
export const IDEMPOTENCY_KEY = 'idempotency-key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/**
 * Sets `request.idempotencyKey` of a POST whose answer is kept; elsewhere only the form of the key is checked. Its faults
 * are reported together with those of query and body. Other methods are idempotent already, so the header is ignored
 * there.
 */
export function readIdempotencyKey(request: ServiceRequest): readonly FieldFault[] {
  const key = request.method === 'POST' ? request.headers[IDEMPOTENCY_KEY] : undefined;
  if (typeof key !== 'string') return [];
  const { answersSecret, keepsAnswers } = request.traits;
  if (keepsAnswers) request.idempotencyKey = key;
  const field = 'header.Idempotency-Key';
  if (answersSecret) return [{ field, message: 'must be left out: the answer contains a secret, which is not stored' }];
  if ((request.headersDistinct[IDEMPOTENCY_KEY] ?? []).length > 1) return [{ field, message: 'must be given once' }];
  return VISIBLE_ASCII.test(key)
    ? []
    : [{ field, message: 'must be 1 to 255 visible ASCII characters, without spaces' }];
}

/**
 * Makes a POST with an `Idempotency-Key` take effect once: caller, method, path and key identify it; body and query are
 * its content.
 */
export function idempotentRequest(
  key: string,
  request: ServiceRequest,
  response: Response,
  caller: Pick<Caller, 'actor' | 'agentId'>,
): IdempotentRequest {
  const content = (): string => canonicalJson([request.sent.body as JsonObject, request.sent.query as JsonObject]);
  return new IdempotentRequest([...nameOf(caller), request.method, ...routeOf(request), key], content, () => {
    // The client may have been answered already, for sending too slowly.
    if (!response.headersSent) response.setHeader(REPLAYED, 'true');
  });
}

/** The subject of a token may speak for several agents: with each of them it is a separate caller. */
function nameOf({ actor: { type, id }, agentId }: Pick<Caller, 'actor' | 'agentId'>): string[] {
  return type === 'token' && agentId !== null ? [type, id, agentId] : [type, id];
}

/** The path, normalised: percent-encoding, a trailing slash, the case of its fixed parts. */
function routeOf({ baseUrl, route, params }: ServiceRequest): string[] {
  const { path } = route as { readonly path: string };
  return [baseUrl.toLowerCase(), path, canonicalJson(params)];
}
