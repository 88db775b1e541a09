import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { ServiceRequest } from '../service-request';

const USABLE_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives the request its id and echoes it, before anything can go wrong. */
export function assignRequestId(request: ServiceRequest, response: Response, next: NextFunction): void {
  request.id = requestIdFor(request.headers['x-request-id']);
  response.setHeader('X-Request-Id', request.id);
  next();
}

/** The id a client asked for when it is usable, otherwise a new one. */
export function requestIdFor(asked: string | string[] | undefined): string {
  return typeof asked === 'string' && USABLE_ID.test(asked) ? asked : randomUUID();
}
