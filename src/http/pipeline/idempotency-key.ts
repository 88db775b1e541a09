import type { Response } from 'express';
import type { FieldFault } from '../../errors/domain-error';
import { canonicalJson } from '../../ledger/chain/canonical-json';
import type { Actor } from '../../ledger/caller';
import { IdempotentRequest } from '../../ledger/idempotent-request';
import type { JsonObject } from '../../json/json-value';
import { REPLAYED } from '../answers/response-headers';
import type { ServiceRequest } from '../request/service-request';

/** As Node writes header names. */
const KEY = 'idempotency-key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

/**
 * Sets `request.idempotencyKey`. What is wrong with it is reported together with the faults of query and body. Other methods
 * are idempotent by themselves, so there the header means nothing.
 */
export function readIdempotencyKey(request: ServiceRequest, answersSecret: boolean): readonly FieldFault[] {
  const key = request.method === 'POST' ? request.headers[KEY] : undefined;
  if (typeof key !== 'string') return [];
  request.idempotencyKey = key;
  const field = 'header.Idempotency-Key';
  if (answersSecret) return [{ field, message: 'must be left out: the answer has a secret, which is kept nowhere' }];
  if ((request.headersDistinct[KEY] ?? []).length > 1) return [{ field, message: 'must be given once' }];
  return VISIBLE_ASCII.test(key)
    ? []
    : [{ field, message: 'must be 1 to 255 visible ASCII characters, without spaces' }];
}

/**
 * What makes a POST with an `Idempotency-Key` take effect once: caller, method, path and key name it; body and query are
 * what it asks. Undefined without a key.
 */
export function idempotentRequest(
  request: ServiceRequest,
  response: Response,
  { type, id }: Actor,
): IdempotentRequest | undefined {
  const { idempotencyKey: key } = request;
  if (key === undefined) return undefined;
  const content = (): string => canonicalJson([request.body as JsonObject, request.query as JsonObject]);
  return new IdempotentRequest([type, id, request.method, ...routeOf(request), key], content, () => {
    // A client may have been answered otherwise meanwhile, for being too slow.
    if (!response.headersSent) response.setHeader(REPLAYED, 'true');
  });
}

/** The path, alike for all its spellings: percent-encoding, a trailing slash, the case of its fixed parts. */
function routeOf({ baseUrl, route, params }: ServiceRequest): string[] {
  const { path } = route as { readonly path: string };
  return [baseUrl.toLowerCase(), path, canonicalJson(params)];
}
