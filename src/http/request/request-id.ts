import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { ServiceRequest } from './service-request';

const SECRET_HEADERS: ReadonlySet<string> = new Set(['x-api-key', 'authorization']);
/** Most consecutive characters of a secret that may appear in an id. */
const LONGEST_SHOWN = 7;
const USABLE_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Paths of standards that require any id to be echoed. */
const STANDARD_PATH = /^\/(?:access\/v1\/|\.well-known\/)/;
const VISIBLE_ID = /^[\x21-\x7e]{1,128}$/;

/** Gives the request its id and echoes it, before anything can fail. */
export function assignRequestId(request: ServiceRequest, response: Response, next: NextFunction): void {
  const { 'x-request-id': asked } = request.headers;
  // The id is logged, returned and audited, where a key must never appear.
  const isShowing = typeof asked === 'string' && secretsIn(request.rawHeaders).some((secret) => shows(asked, secret));
  const usable = STANDARD_PATH.test(request.url) ? VISIBLE_ID : USABLE_ID;
  request.id = requestIdFor(isShowing ? undefined : asked, usable);
  response.setHeader('X-Request-Id', request.id);
  next();
}

/** Every credential in the headers, valid or not, including those in repeated headers. */
function secretsIn(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && SECRET_HEADERS.has(rawHeaders[index - 1]?.toLowerCase() ?? ''),
  );
}

/** Whether a text contains enough of a secret to be of use, or all of a short one. */
function shows(text: string, secret: string): boolean {
  if (secret === '') return false;
  const length = Math.min(secret.length, LONGEST_SHOWN + 1);
  for (let at = 0; at + length <= text.length; at += 1) if (secret.includes(text.slice(at, at + length))) return true;
  return false;
}

/** The id a client asked for if it is usable, otherwise a new one. */
export function requestIdFor(asked: string | string[] | undefined, usable = USABLE_ID): string {
  return typeof asked === 'string' && usable.test(asked) ? asked : randomUUID();
}
