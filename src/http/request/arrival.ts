import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';
import type { NextFunction, Response } from 'express';
import type { FieldFault } from '../../core/errors/domain-error';
import { countedClient, unmapAddress } from '../../core/values/ip-address';
import type { ServiceRequest } from './service-request';

const SECRET_HEADERS = ['x-api-key', 'authorization'];
/** Most consecutive characters of a secret that may appear in an id. */
const MAX_SECRET_CHARACTERS = 7;
const USABLE_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Paths of standards that require any id to be echoed. */
const STANDARD_PATH = /^\/(?:access\/v1\/|\.well-known\/)/;
const VISIBLE_ID = /^[\x21-\x7e]{1,128}$/;

/** Gives the request its id, which is echoed, and notes who sent it and in which trace, before anything can fail. */
export function noteArrival(request: ServiceRequest, response: Response, next: NextFunction): void {
  const { 'x-request-id': id } = request.headers;
  // The id is logged, returned and audited, but a key must never be.
  const isShowing =
    typeof id === 'string' &&
    SECRET_HEADERS.some((name) => headerValues(request, name).some((secret) => shows(id, secret)));
  const usable = STANDARD_PATH.test(request.url) ? VISIBLE_ID : USABLE_ID;
  request.id = requestIdFor(isShowing ? undefined : id, usable);
  response.setHeader('X-Request-Id', request.id);
  stripPorts(request.headers);
  request.address = addressOf(request);
  request.client = countedClient(request.address);
  request.traceId = traceIdIn(request.headers['traceparent']);
  next();
}

/** Returns all values of a header, of which Node keeps the first or joins them. @param name name in lower case */
export function headerValues({ rawHeaders, headers }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  // Names and values alternate; most other names differ in length.
  for (let index = 0; headers[name] !== undefined && index < rawHeaders.length; index += 2) {
    const headerName = rawHeaders[index] ?? '';
    if (headerName.length === name.length && headerName.toLowerCase() === name)
      values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

/** True if a text contains a usable part of a secret, or all of a short one. */
function shows(text: string, secret: string): boolean {
  if (secret === '') return false;
  const length = Math.min(secret.length, MAX_SECRET_CHARACTERS + 1);
  for (let at = 0; at + length <= text.length; at += 1) if (secret.includes(text.slice(at, at + length))) return true;
  return false;
}

/** Returns the client's request id if it is usable, otherwise a new one. */
export function requestIdFor(id: string | string[] | undefined, usable = USABLE_ID): string {
  return typeof id === 'string' && usable.test(id) ? id : randomUUID();
}

/** An IPv4 address with a port, or an IPv6 address in brackets, with or without a port. */
const ADDRESS_AND_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([\da-f:.]+)\](?::\d+)?)$/i;

/** Removes ports, which some gateways send, from the addresses of clients and proxies. */
function stripPorts(headers: IncomingMessage['headers']): void {
  const { 'x-forwarded-for': stated } = headers;
  if (typeof stated !== 'string') return;
  const addresses = stated.split(',').map((item) => item.trim().replace(ADDRESS_AND_PORT, '$1$2'));
  headers['x-forwarded-for'] = addresses.join(',');
}

/**
 * Returns the address that trusted proxies report (Express `trust proxy`), otherwise the socket's. If a proxy passed on
 * something that is not an address, returns the proxy's.
 */
function addressOf(request: ServiceRequest): string {
  // Without that header, only the socket's address is known.
  const stated = request.headers['x-forwarded-for'] === undefined ? '' : (request.ip ?? '');
  return unmapAddress(isIP(stated) === 0 ? (request.socket.remoteAddress ?? '') : stated);
}

/** Version, trace id, parent id and flags; additions of later versions follow a further dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const ALL_ZERO = /^0+$/;

/**
 * Returns the trace id of a W3C `traceparent` header; null if the header is missing or malformed. If a client and its
 * HTTP library both send it, Node joins the two, which name the same trace.
 */
export function traceIdIn(header: string | string[] | undefined): string | null {
  if (typeof header !== 'string') return null;
  const [first = null, ...others] = new Set(header.split(', ').map(traceIdOf));
  return others.length === 0 ? first : null;
}

function traceIdOf(traceparent: string): string | null {
  const [, version, traceId = '0', parentId = '0', more] = TRACEPARENT.exec(traceparent) ?? [];
  const isKnown = version === '00' ? more === undefined : version !== 'ff';
  return isKnown && !ALL_ZERO.test(traceId) && !ALL_ZERO.test(parentId) ? traceId : null;
}

/** No route has this path, so the fallback responds, after the guards have counted and authenticated the request. */
const UNREADABLE_TARGET = '/unreadable';
/** Matches nearly all targets: they begin with `/`, and nothing is encoded. Node only lets ASCII through. */
const PLAIN_TARGET = /^\/[^%#]*$/;
const SCHEME_AND_HOST = /^https?:\/\/[^/?#]*\/?/i;

/**
 * Routes unreadable requests to the fallback with their fault. This must happen before Express, which responds to a
 * target that it cannot parse, before the guards, and in another shape.
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
  // A proxy may send the absolute form. A `#`, which no target should have, would end the path for Node's URL parser,
  // so it becomes part of the path.
  const target = request.url.replace(SCHEME_AND_HOST, '/').replaceAll('#', '%23');
  const [path = ''] = target.split('?', 1);
  const message = target.startsWith('/') ? readingFault(path) : 'must begin with "/"';
  if (message === undefined) {
    request.url = target;
  } else {
    sendToFallback(request, { field: 'path', message });
  }
}

/** Returns the path of a request as it was sent, even if it could not be read. */
export function requestedPath({ unreadable, originalUrl, path }: ServiceRequest): string {
  if (unreadable === undefined) return path;
  const [requested = ''] = originalUrl.replace(SCHEME_AND_HOST, '/').split(/[?#]/, 1);
  return requested;
}

function sendToFallback(request: ServiceRequest, fault: FieldFault): void {
  request.unreadable = fault;
  request.originalUrl = request.url;
  request.url = UNREADABLE_TARGET;
}

/** Returns why a path, or a part of one, cannot be decoded; undefined if it can. */
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
 * Returns a fault in the head of a request that RFC 9112 requires a server to refuse and Node accepts: other versions,
 * a missing, repeated or malformed Host (3.2), and a body whose end is ambiguous (6.1). Undefined if there is none.
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
  // Node keeps the first of several Host headers.
  if (headerValues(request, 'host').length > 1) return { field, message: 'must be given only once' };
  return HOST.test(host) ? undefined : { field, message: 'must be a host, and a port unless it is the default one' };
}
