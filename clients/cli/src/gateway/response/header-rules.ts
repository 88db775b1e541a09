import type { HeaderPair } from '../upstream/request-headers.js';
import type { ResponseUrls } from './response-urls.js';

/** An answer of an upstream that the client does not get. It is reported by the upstream's status. */
export interface ResponseRefusal {
  readonly kind: 'refusal';
  /** Status for the client. */
  readonly status: 422 | 502;
  readonly reason: 'answer_encoded' | 'redirect_refused' | 'upstream_refused_credential';
  readonly message: string;
}

/**
 * Headers of one connection, those that speak for the upstream's own origin to a browser, those that caches and proxies
 * in front of the gateway follow, and those that only this product sets.
 */
const DROPPED: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'set-cookie', 'set-cookie2', 'www-authenticate', 'alt-svc'],
  ...['strict-transport-security', 'public-key-pins', 'expect-ct', 'clear-site-data', 'service-worker-allowed'],
  ...['origin-agent-cluster', 'nel', 'report-to', 'reporting-endpoints', 'refresh', 'sourcemap', 'x-sourcemap'],
  ...['cache-control', 'cdn-cache-control', 'surrogate-control', 'pragma', 'expires', 'age'],
  ...['x-sendfile', 'x-lighttpd-send-file', 'x-reproxy-url'],
]);
const DROPPED_PREFIXES = ['access-control-', 'governance-', 'x-accel-'];

/** Headers that are true only of the body as the upstream sent it. */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  ...['content-length', 'etag', 'digest', 'content-digest', 'repr-digest', 'content-md5'],
]);

/** Bytes that a header of an answer may have: what a client's parser would refuse is dropped. */
const VALID_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export interface ResponseHead {
  readonly method: string;
  readonly status: number;
  readonly headers: readonly HeaderPair[];
}

/** Why an answer is refused; null if it may be passed on. */
export function findRefusal(head: ResponseHead, urls: ResponseUrls): ResponseRefusal | null {
  const { method, status, headers } = head;
  if (status === 401 || status === 407) {
    const message = `The upstream answered ${status}: it refused the gateway's credential. Tell whoever runs the gateway.`;
    return { kind: 'refusal', status: 502, reason: 'upstream_refused_credential', message };
  }
  const isRead = method === 'GET' || method === 'HEAD';
  const end = isRead ? '' : ' The request was carried out: do not repeat it.';
  const refusalStatus = isRead ? 502 : 422;
  if (isEncoded(headers)) {
    const message = `The upstream's answer is compressed, so that no credential in it could be found.${end}`;
    return { kind: 'refusal', status: refusalStatus, reason: 'answer_encoded', message };
  }
  const locations = valuesOf(headers, 'location');
  const isRedirect = status >= 300 && status < 400;
  if (isRedirect && locations.length > 0 && rewriteLocation(locations, urls) === null) {
    const message = `The upstream redirects to an address that is not below its URL, which gets no request.${end}`;
    return { kind: 'refusal', status: refusalStatus, reason: 'redirect_refused', message };
  }
  return null;
}

/** The headers that go on to the client, with URLs of the gateway. */
export function filterHeaders(headers: readonly HeaderPair[], urls: ResponseUrls): HeaderPair[] {
  const named = connectionNames(headers);
  const location = rewriteLocation(valuesOf(headers, 'location'), urls);
  const filtered = headers.flatMap(([name, value]): HeaderPair[] => {
    const lowerName = name.toLowerCase();
    if (DROPPED.has(lowerName) || named.has(lowerName)) return [];
    if (DROPPED_PREFIXES.some((prefix) => lowerName.startsWith(prefix))) return [];
    if (!VALID_VALUE.test(value)) return [];
    const rewritten = rewriteHeader([lowerName, value], { urls, location });
    return rewritten === null ? [] : [[name, rewritten]];
  });
  return [...filtered, ['Cache-Control', 'private, no-store']];
}

/** The headers without those that are true only of the upstream's own bytes. */
export function withoutBodyHeaders(headers: readonly HeaderPair[]): HeaderPair[] {
  return headers.filter(([name]) => !BODY_HEADERS.has(name.toLowerCase()));
}

/** Length that the headers announce; null if they announce none. */
export function announcedLength(headers: readonly HeaderPair[]): number | null {
  const [length] = valuesOf(headers, 'content-length');
  return length === undefined ? null : Number(length);
}

interface RewriteContext {
  readonly urls: ResponseUrls;
  readonly location: string | null;
}

function rewriteHeader([lowerName, value]: HeaderPair, { urls, location }: RewriteContext): string | null {
  if (lowerName === 'location') return location;
  if (lowerName === 'content-location') return urls.rewrite(value);
  if (lowerName === 'link') return urls.rewriteLinks(value);
  return value;
}

/** The gateway's URL; null if there is no location, more than one, or one that leads elsewhere. */
function rewriteLocation(locations: readonly string[], urls: ResponseUrls): string | null {
  const [location] = locations;
  return location === undefined || locations.length > 1 ? null : urls.rewrite(location);
}

/** True if a body is in another form than the one that is searched for credentials. */
function isEncoded(headers: readonly HeaderPair[]): boolean {
  const encodings = tokensOf(headers, 'content-encoding').filter((token) => token !== 'identity');
  const transfers = tokensOf(headers, 'transfer-encoding').filter((token) => token !== 'chunked');
  return encodings.length > 0 || transfers.length > 0;
}

function connectionNames(headers: readonly HeaderPair[]): ReadonlySet<string> {
  return new Set(tokensOf(headers, 'connection'));
}

function tokensOf(headers: readonly HeaderPair[], name: string): string[] {
  const tokens = valuesOf(headers, name).flatMap((value) => value.split(','));
  return tokens.map((token) => token.trim().toLowerCase()).filter((token) => token !== '');
}

function valuesOf(headers: readonly HeaderPair[], name: string): string[] {
  return headers.filter(([other]) => other.toLowerCase() === name).map(([, value]) => value);
}
