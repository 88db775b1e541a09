import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface';
import type { IncomingMessage } from 'node:http';
import { REPLAYED } from './json-adapter';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const REQUEST_HEADERS = [
  'Content-Type',
  'X-API-Key',
  'Authorization',
  'If-Match',
  'If-None-Match',
  'Idempotency-Key',
  'X-Request-Id',
  'Last-Event-ID',
  'traceparent',
];
const EXPOSED_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'X-Request-Id',
  'ETag',
  'Location',
  'X-Head-Sequence',
  'X-Head-Hash',
  'Approval-Requested',
  REPLAYED,
];
const PREFLIGHT_CACHE_SECONDS = 600;

/** Options of Express's `cors` for the given origins, compared exactly. A preflight is counted, then answered by the fallback. */
export function corsOptions(origins: readonly string[] | '*'): CorsOptions {
  return {
    origin: origins === '*' ? '*' : [...origins],
    methods: METHODS,
    allowedHeaders: REQUEST_HEADERS,
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_CACHE_SECONDS,
    preflightContinue: true,
  };
}

/** Whether a browser asks if it may send a cross-origin request. */
export function isPreflight(request: IncomingMessage): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  );
}
