import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { ServiceRequest } from '../service-request';

const USABLE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives the request its id and echoes it, before anything can go wrong. */
export function assignRequestId(request: ServiceRequest, response: Response, next: NextFunction): void {
  const { 'x-request-id': asked, 'x-api-key': key } = request.headers;
  // The id is logged, answered and audited, where a key must never be.
  const showsKey = typeof asked === 'string' && typeof key === 'string' && key !== '' && asked.includes(key);
  request.id = requestIdFor(showsKey ? undefined : asked);
  response.setHeader('X-Request-Id', request.id);
  next();
}

/** The id a client asked for when it is usable, otherwise a new one. */
export function requestIdFor(asked: string | string[] | undefined): string {
  return typeof asked === 'string' && USABLE_ID.test(asked) ? asked : randomUUID();
}
