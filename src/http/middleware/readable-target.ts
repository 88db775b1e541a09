import type { NextFunction, Response } from 'express';
import type { ServiceRequest } from '../service-request';

/** No route has this path, so the fallback answers, after the guards have counted and authenticated the request. */
const UNREADABLE_TARGET = '/unreadable';
/** Begins with `/`, nothing encoded: nearly every request. Node lets only ASCII through. */
const PLAIN_TARGET = /^\/[^%#]*$/;
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Makes sure that routing only sees targets it can decode; others go to the fallback with what is wrong with them. */
export function readTarget(request: ServiceRequest, _response: Response, next: NextFunction): void {
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    sendToFallback(request, 'The request must have a Host header.');
  } else if (!PLAIN_TARGET.test(request.url)) {
    readUnusualTarget(request);
  }
  next();
}

function readUnusualTarget(request: ServiceRequest): void {
  const target = originForm(request.url);
  const fault = targetFault(target);
  if (fault === undefined) {
    request.url = target;
  } else {
    sendToFallback(request, fault);
  }
}

function sendToFallback(request: ServiceRequest, fault: string): void {
  request.unreadable = fault;
  request.url = UNREADABLE_TARGET;
}

/**
 * Path and query of a target, which a proxy may have sent in absolute form. A `#`, which no target should have, would end
 * the path for Node's URL parser; it is taken as part of the path.
 */
export function originForm(target: string): string {
  const origin = target.replace(ABSOLUTE_FORM, '').replaceAll('#', '%23');
  const isAbsolute = ABSOLUTE_FORM.test(target);
  return isAbsolute && !origin.startsWith('/') ? `/${origin}` : origin;
}

/** What makes the path of a target unreadable; undefined when nothing does. */
export function targetFault(target: string): string | undefined {
  if (!target.startsWith('/')) {
    return 'The path must begin with "/".';
  }
  const queryStart = target.indexOf('?');
  const path = decoded(queryStart < 0 ? target : target.slice(0, queryStart));
  if (path === undefined) {
    return 'The path must be percent-encoded UTF-8.';
  }
  return path.includes('\0') ? 'The path must not contain a NUL character.' : undefined;
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
