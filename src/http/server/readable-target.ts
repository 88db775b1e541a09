import type { IncomingMessage } from 'node:http';
import type { FieldFault } from '../../core/errors/domain-error';
import { headerValues, type ServiceRequest } from '../request/service-request';

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
function readingFault(path: string): string | undefined {
  try {
    return decodeURIComponent(path).includes('\0') ? 'must not contain a NUL character' : undefined;
  } catch {
    return 'must be percent-encoded UTF-8';
  }
}

const VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1']);
/** `uri-host [ ":" port ]` of RFC 9110, 7.2; it may be empty. */
const HOST = /^(\[[\w.:~!$&'()*+,;=%-]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * What RFC 9112 requires a server to refuse in the head of a request and Node accepts: other versions, a missing,
 * repeated or malformed Host (3.2), and a body whose end is ambiguous (6.1). Undefined if there is nothing wrong.
 */
function headFault(request: IncomingMessage): FieldFault | undefined {
  const { headers, httpVersion } = request;
  const { host, 'transfer-encoding': encoding } = headers;
  if (!VERSIONS.has(httpVersion)) return { field: 'request', message: 'must be HTTP/1.1 or HTTP/1.0' };
  if (encoding !== undefined && (httpVersion !== '1.1' || encoding.toLowerCase() !== 'chunked')) {
    return { field: 'header.Transfer-Encoding', message: 'must be chunked, in HTTP/1.1, or absent' };
  }
  const field = 'header.Host';
  if (host === undefined) return httpVersion === '1.0' ? undefined : { field, message: 'is required' };
  // Node keeps the first of several.
  if (headerValues(request, 'host').length > 1) return { field, message: 'must be given only once' };
  return HOST.test(host) ? undefined : { field, message: 'must be a host, and a port unless it is the default one' };
}
