import { invalid, invalidField, permissionDenied } from '../../core/errors/domain-error';
import type { ForwardedHeaders } from '../../http/input/forwarded.decorator';
import { textFault } from '../../http/validation/shapes';
import { RESOURCE_ID } from '../permissions/evaluation/permission-checks';

/** A request that a gateway forwards for authorisation. */
export interface ForwardedRequest {
  /** Method as sent; its case counts. */
  readonly method: string;
  /** Resource in the form that policies compare: without query, a final `/` written `/-`. */
  readonly url: string;
  /** Query as sent, without its `?`; null if there is none. */
  readonly query: string | null;
}

/** Headers of Traefik and Caddy, and those of nginx. */
export const HEADER_FAMILIES = [
  ['X-Forwarded-Method', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Uri'],
  ['X-Original-Method', 'X-Original-URL'],
] as const;

/** A token of RFC 9110, 5.6.2, which servers accept as a method, and which forms an action after `http.`. */
const METHOD = /^[\w!#$%&'*+.^`|~-]{1,95}$/;
/** A WebSocket begins as a request with `http` or `https`. */
const SCHEMES: ReadonlyMap<string, string> = new Map([
  ['http', 'http'],
  ['https', 'https'],
  ['ws', 'http'],
  ['wss', 'https'],
]);
const WEB_URL = /^(https?|wss?):\/\/([^/?#]*)(.*)$/is;
/** Characters that an authority must not have: the URL would get another host, or another path, than its parts. */
const END_OF_HOST = /[/?#@\\]/;
/** Two ports: without the default one, the URL would name the other. */
const SECOND_PORT = /:\d*:\d*$/;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;
const DEFAULT_PORTS: Readonly<Record<string, RegExp>> = { http: /:80$/, https: /:443$/ };

interface TargetParts {
  readonly scheme: string;
  /** Host, with the port if one was given. */
  readonly authority: string;
  /** Path and query. */
  readonly target: string;
}

/**
 * Reads a gateway's description of a request. Faults that the gateway causes are 400, those of its client 403, because
 * some gateways only treat a 403 as a refusal.
 * @throws VALIDATION_ERROR unless a trusted proxy sends one complete family of headers, each once; PERMISSION_DENIED
 * for a URL that could be read as another one, and so could evade a policy
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
  // A gateway that opens a WebSocket for it (RFC 8441) sends the upstream a GET, which policies could deny.
  if (method === 'CONNECT')
    throw permissionDenied('resource_invalid', 'A CONNECT reaches the upstream as another method, so it cannot pass.');
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
  // No resource ends in `/`, although a server may serve something else with the `/` than without it.
  const url = `${scheme}://${host}${path}${path.endsWith('/') ? '-' : ''}`;
  const fault = targetFault(authority, target) ?? textFault(url, RESOURCE_ID);
  if (fault !== undefined) throw permissionDenied('resource_invalid', `The URL of the request ${fault}.`);
  return { url, query: queries.length === 0 ? null : queries.join('?') };
}

/** Returns faults of the parts that are invisible in the URL as a whole. */
function targetFault(authority: string, target: string): string | undefined {
  if (END_OF_HOST.test(authority)) return 'must have a host, without user name and path';
  if (SECOND_PORT.test(authority)) return 'must have at most one port';
  if (!target.startsWith('/')) return 'must have a path that begins with "/"';
  // Bytes beyond ASCII are not part of a URL, and servers may interpret them differently.
  return VISIBLE_ASCII.test(target) ? undefined : 'must be percent-encoded where it is not visible ASCII';
}
