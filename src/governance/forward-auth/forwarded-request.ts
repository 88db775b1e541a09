import { invalid, invalidField, permissionDenied } from '../../core/errors/domain-error';
import type { ForwardedHeaders } from '../../http/input/forwarded.decorator';
import { textFault } from '../../http/validation/shapes';
import { RESOURCE_ID } from '../permissions/evaluation/permission-checks';

/** A request that a gateway forwards for authorisation. */
export interface ForwardedRequest {
  /** As sent: methods are case-sensitive. */
  readonly method: string;
  /** A resource in the form that policies compare: without query, a final `/` written `/-`. */
  readonly url: string;
  /** As sent, without its `?`; null if there is none. */
  readonly query: string | null;
}

/** The headers of Traefik and Caddy, and those of nginx. */
export const HEADER_FAMILIES = [
  ['X-Forwarded-Method', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Uri'],
  ['X-Original-Method', 'X-Original-URL'],
] as const;

/** A token of RFC 9110, 5.6.2, which is all that a server takes for a method; with `http.` before it an action. */
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,95}$/;
/** A WebSocket begins as a request with one of the first two. */
const SCHEMES: ReadonlyMap<string, string> = new Map([
  ['http', 'http'],
  ['https', 'https'],
  ['ws', 'http'],
  ['wss', 'https'],
]);
const WEB_URL = /^(https?|wss?):\/\/([^/?#]*)(.*)$/is;
/** Of an authority. With one of these the URL would have another host, or another path, than the parts that make it up. */
const END_OF_HOST = /[/?#@\\]/;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;
const DEFAULT_PORTS: Readonly<Record<string, RegExp>> = { http: /:80$/, https: /:443$/ };

interface TargetParts {
  readonly scheme: string;
  /** Host, and port if one was given. */
  readonly authority: string;
  /** Path and query. */
  readonly target: string;
}

/**
 * What a gateway says of a request. The gateway itself determines what is 400 here, its client what is 403: for some gateways
 * only a 403 is a refusal.
 * @throws VALIDATION_ERROR unless a trusted proxy gives one family of headers, whole, each once; PERMISSION_DENIED for a URL
 * that could be read as another one, and so could evade a policy.
 */
export function forwardedRequest({ valuesOf, isTrusted }: ForwardedHeaders): ForwardedRequest {
  const [family, ...others] = HEADER_FAMILIES.filter((names) => names.some((name) => valuesOf(name).length > 0));
  if (family === undefined || others.length > 0)
    throw invalidField('header', `must be ${HEADER_FAMILIES.map((names) => names.join(', ')).join('; or ')}`);
  if (!isTrusted)
    throw invalidField(`header.${family[0]}`, 'is believed only from the addresses and subnets in TRUST_PROXY');
  const values = family.map((name) => (valuesOf(name).length === 1 ? (valuesOf(name)[0] ?? '') : ''));
  const message = 'must be given once, and not be empty';
  const faults = family.flatMap((name, index) => (values[index] === '' ? [{ field: `header.${name}`, message }] : []));
  if (faults.length > 0) throw invalid(faults);
  const [method = '', ...target] = values;
  if (!METHOD.test(method)) throw invalidField(`header.${family[0]}`, 'must be the method of a request');
  return { method, ...resourceAt(target.length === 1 ? targetOfUrl(...target) : targetOfParts(target)) };
}

function targetOfUrl(url = ''): TargetParts {
  const [, scheme, authority = '', target = ''] = WEB_URL.exec(url) ?? [];
  if (scheme === undefined)
    throw invalidField('header.X-Original-URL', 'must be a whole URL, such as https://api.example.com/a?b');
  return { scheme, authority, target };
}

function targetOfParts([scheme = '', authority = '', target = '']: readonly string[]): TargetParts {
  if (!SCHEMES.has(scheme.toLowerCase()))
    throw invalidField('header.X-Forwarded-Proto', 'must be http or https; for a WebSocket, ws or wss');
  return { scheme, authority, target };
}

function resourceAt({
  scheme: forwardedScheme,
  authority,
  target,
}: TargetParts): Pick<ForwardedRequest, 'url' | 'query'> {
  const scheme = SCHEMES.get(forwardedScheme.toLowerCase()) ?? '';
  const host = authority.toLowerCase().replace(DEFAULT_PORTS[scheme] ?? '', '');
  const [path = '', ...queries] = target.split('?');
  // No resource ends in `/`, and what a server serves there is another one than without it.
  const url = `${scheme}://${host}${path}${path.endsWith('/') ? '-' : ''}`;
  const fault = targetFault(authority, target) ?? textFault(url, RESOURCE_ID);
  if (fault !== undefined) throw permissionDenied('resource_invalid', `The URL of the request ${fault}.`);
  return { url, query: queries.length === 0 ? null : queries.join('?') };
}

/** Faults in its parts that can no longer be seen in the URL as a whole. */
function targetFault(authority: string, target: string): string | undefined {
  if (END_OF_HOST.test(authority)) return 'must have a host, without user name and path';
  if (!target.startsWith('/')) return 'must have a path that begins with "/"';
  // Bytes beyond ASCII are not part of a URL: a server may interpret them differently.
  return VISIBLE_ASCII.test(target) ? undefined : 'must be percent-encoded where it is not visible ASCII';
}
