import type { CorsOptions } from '@nestjs/common/interfaces/external/cors-options.interface';
import helmet from 'helmet';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Configuration } from '../../core/config/configuration';
import { REPLAYED_HEADER } from './json-adapter';

/** Returns middleware that sets the headers of all responses in one step: Helmet computes them once. */
export function commonHeaders(): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  const directives = {
    fontSrc: ["'self'", 'data:'],
    styleSrc: ["'self'", "'unsafe-inline'"],
    // Left out: over plain HTTP, the API's page would load its assets over HTTPS and stay blank.
    upgradeInsecureRequests: null,
  };
  const sample = new ServerResponse(new IncomingMessage(new Socket()));
  helmet({ contentSecurityPolicy: { directives } })(sample.req, sample, () => undefined);
  // A shared cache would serve stored responses to clients without a key. A caller may store its own copy, and
  // revalidates it.
  sample.setHeader('Cache-Control', 'private, no-cache').setHeader('Vary', 'X-API-Key, Authorization');
  const headers = Object.entries(sample.getHeaders()).map(([name, value]) => [name, String(value)] as const);
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
}

/**
 * `Cache-Control` of files that are the same for everybody and may be cached by anybody. A newer version may have other
 * content under the same name.
 */
export const FOR_EVERYBODY = 'public, max-age=300';

/** `Cache-Control` of files whose names change with their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';

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
  'Change',
  'Break-Glass',
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
  'Approval-Feasible',
  REPLAYED_HEADER,
];
const PREFLIGHT_CACHE_SECONDS = 600;

/**
 * Options of Express's `cors` for the given origins, compared exactly. A preflight is counted, then answered by the
 * fallback.
 */
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

/** True for a browser's preflight of a cross-origin request, if any origin is admitted. */
export function isPreflight({ method, headers }: IncomingMessage, { corsOrigins }: Configuration): boolean {
  const isAsked = method === 'OPTIONS' && headers.origin !== undefined;
  return corsOrigins !== null && isAsked && headers['access-control-request-method'] !== undefined;
}
