import type { Response } from 'express';
import { startTime } from 'pino-http';
import { clientAddress } from '../http/rate-limit/client-address';
import type { ServiceRequest } from '../http/service-request';

/** The line a request leaves behind, beside its request id. No header is in it, and of the URL no query. */
interface RequestLine {
  readonly method: string;
  /** Template such as `/api/v1/entities/:id`; null when no route has the path. */
  readonly route: string | null;
  readonly path: string;
  /** Null when the client left before it was answered. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly ip: string;
}

export function requestLine(request: ServiceRequest, response: Response): RequestLine {
  return {
    method: request.method,
    route: routeTemplate(request),
    path: pathOf(request.originalUrl),
    status: response.headersSent ? response.statusCode : null,
    durationMs: Date.now() - response[startTime],
    ip: clientAddress(request),
  };
}

/** Template such as `/api/v1/entities/:id`; null when no route has the path. */
export function routeTemplate(request: ServiceRequest): string | null {
  const route = request.route as { readonly path?: unknown } | undefined;
  const template = typeof route?.path === 'string' ? route.path : '*';
  return template.includes('*') ? null : template;
}

function pathOf(url: string): string {
  const queryStart = url.indexOf('?');
  return queryStart < 0 ? url : url.slice(0, queryStart);
}
