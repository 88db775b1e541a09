import type { FieldFault } from '../../errors/domain-error';
import type { ServiceRequest } from '../request/service-request';
import { headFault } from './request-head';

/** No route has this path, so the fallback answers, after the guards have counted and authenticated the request. */
const UNREADABLE_TARGET = '/unreadable';
/** Begins with `/`, nothing encoded: nearly every request. Node lets only ASCII through. */
const PLAIN_TARGET = /^\/[^%#]*$/;
const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/**
 * Makes sure that routing only sees requests it can read; others go to the fallback with their fault. It has to happen
 * before Express, which answers a target it cannot parse itself: before the guards, and in another shape.
 */
export function readTarget(request: ServiceRequest): void {
  const fault = headFault(request);
  if (fault !== undefined) {
    sendToFallback(request, fault);
  } else if (!PLAIN_TARGET.test(request.url)) {
    readUnusualTarget(request);
  }
}

function readUnusualTarget(request: ServiceRequest): void {
  const target = originForm(request.url);
  const message = target.startsWith('/') ? readingFault(pathOf(target)) : 'must begin with "/"';
  if (message === undefined) {
    request.url = target;
  } else {
    sendToFallback(request, { field: 'path', message });
  }
}

function sendToFallback(request: ServiceRequest, fault: FieldFault): void {
  request.unreadable = fault;
  request.originalUrl = request.url;
  request.url = UNREADABLE_TARGET;
}

/**
 * Path and query of a target, which a proxy may have sent in absolute form. A `#`, which no target should have, would end
 * the path for Node's URL parser; it is taken as part of the path.
 */
function originForm(target: string): string {
  const origin = target.replace(ABSOLUTE_FORM, '').replaceAll('#', '%23');
  const isAbsolute = ABSOLUTE_FORM.test(target);
  return isAbsolute && !origin.startsWith('/') ? `/${origin}` : origin;
}

/** The path of a request target, without its query. */
export function pathOf(target: string): string {
  const queryStart = target.indexOf('?');
  return queryStart < 0 ? target : target.slice(0, queryStart);
}

/** Why a path, or a part of one, cannot be decoded; undefined if it can. */
export function readingFault(path: string): string | undefined {
  try {
    return decodeURIComponent(path).includes('\0') ? 'must not contain a NUL character' : undefined;
  } catch {
    return 'must be percent-encoded UTF-8';
  }
}
