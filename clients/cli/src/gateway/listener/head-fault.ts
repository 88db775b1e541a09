import type { IncomingMessage } from 'node:http';
import { headerValues } from '../calls/ask-headers.js';

const VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1']);
/** `uri-host [ ":" port ]` of RFC 9110, 7.2; it may be empty. */
const HOST = /^(\[[\w.:~!$&'()*+,;=%-]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * States what RFC 9112 requires a server to refuse in a head and Node.js accepts, as the service does; null if it is
 * valid.
 */
export function headFault({
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): string | null {
  if (!VERSIONS.has(httpVersion)) return 'The request must be HTTP/1.1 or HTTP/1.0.';
  const [encoding, ...otherEncodings] = headerValues(rawHeaders, 'transfer-encoding');
  const isChunked = httpVersion === '1.1' && encoding?.toLowerCase() === 'chunked' && otherEncodings.length === 0;
  if (encoding !== undefined && !isChunked) return 'Transfer-Encoding must be chunked, once, in HTTP/1.1, or absent.';
  const [host, ...otherHosts] = headerValues(rawHeaders, 'host');
  if (host === undefined) return httpVersion === '1.0' ? null : 'The header Host is required.';
  if (otherHosts.length > 0) return 'The header Host must be given only once.';
  return HOST.test(host) ? null : 'The header Host must be a host, and a port unless it is the default one.';
}
