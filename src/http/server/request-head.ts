import type { IncomingMessage } from 'node:http';
import type { FieldFault } from '../../errors/domain-error';

const VERSIONS: ReadonlySet<string> = new Set(['1.0', '1.1']);
/** `uri-host [ ":" port ]` of RFC 9110, 7.2; it may be empty. */
const HOST = /^(\[[\w.:~!$&'()*+,;=%-]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/;

/**
 * What RFC 9112 requires a server to refuse in the head of a request and Node accepts: other versions, a missing,
 * repeated or malformed Host (3.2), and a body whose end is ambiguous (6.1). Undefined if there is nothing wrong.
 */
export function headFault(request: IncomingMessage): FieldFault | undefined {
  if (!VERSIONS.has(request.httpVersion)) {
    return { field: 'request', message: 'must be HTTP/1.1 or HTTP/1.0' };
  }
  return hostFault(request) ?? transferEncodingFault(request);
}

function hostFault({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage): FieldFault | undefined {
  const field = 'header.Host';
  if (host === undefined) {
    return httpVersion === '1.0' ? undefined : { field, message: 'is required' };
  }
  // Node keeps the first of several.
  if (timesGiven(rawHeaders, 'host') > 1) {
    return { field, message: 'must be given only once' };
  }
  return HOST.test(host) ? undefined : { field, message: 'must be a host, and a port where it is not the usual one' };
}

function transferEncodingFault({ headers, httpVersion }: IncomingMessage): FieldFault | undefined {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) {
    return undefined;
  }
  const isClear = httpVersion === '1.1' && encoding.toLowerCase() === 'chunked';
  return isClear
    ? undefined
    : { field: 'header.Transfer-Encoding', message: 'must be chunked, in HTTP/1.1, or absent' };
}

/** How often a header occurs in the request; `rawHeaders` alternates names and values; `name` is in lower case. */
function timesGiven(rawHeaders: readonly string[], name: string): number {
  let times = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index];
    if (given?.length === name.length && given.toLowerCase() === name) {
      times += 1;
    }
  }
  return times;
}
