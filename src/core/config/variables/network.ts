import { isIP } from 'node:net';
import { isDecodable } from './database-url';
import { parseList, parseWholeNumber } from './variable';

/** An IP address or a host name; undefined when the text is neither. */
export function parseHost(text: string): string | undefined {
  if (isIP(text) !== 0) return text;
  const looksLikeAddress = /^[\d.]+$/.test(text);
  const isName = text.length <= 253 && /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i.test(text);
  return isName && !looksLikeAddress ? text : undefined;
}

/** `*`, or one or several origins separated by commas. */
export function parseAllowedOrigins(text: string): readonly string[] | '*' | undefined {
  return text === '*' ? '*' : parseList(text, parseOrigin);
}

/** Only an origin exactly as browsers send it can ever match, so any other form is refused. */
function parseOrigin(text: string): string | undefined {
  const hasOriginForm = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*\\]+$/.test(text);
  if (!hasOriginForm || !URL.canParse(text)) return undefined;
  const isWeb = text.startsWith('http:') || text.startsWith('https:');
  return !isWeb || new URL(text).origin === text ? text : undefined;
}

/** Number of trusted proxy hops in front of the service, or the proxies' addresses and subnets. */
type TrustedProxies = number | readonly string[];

const MAX_HOPS = 32;

/** A number of hops, or addresses and subnets separated by commas. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  return parseWholeNumber(text, 0, MAX_HOPS) ?? parseList(text, parseSubnet);
}

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. A prefix of 0 would trust everyone, so it is refused. */
function parseSubnet(text: string): string | undefined {
  const slash = text.indexOf('/');
  const version = isIP(slash < 0 ? text : text.slice(0, slash));
  if (version === 0 || text.includes('%')) return undefined;
  if (slash < 0) return text;
  const longest = version === 4 ? 32 : 128;
  return parseWholeNumber(text.slice(slash + 1), 1, longest) === undefined ? undefined : text;
}

const PLACE = /^(\/\d{0,5})?$/;

/** `redis://` or, over TLS, `rediss://`: host, optional port, user, password and number of the database. */
export function parseRedisUrl(text: string): string | undefined {
  if (!/^rediss?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return undefined;
  const { hostname, pathname, search, hash } = new URL(text);
  const isPlace = hostname !== '' && PLACE.test(pathname) && search === '' && hash === '';
  return isPlace && explainCredentials(text) === undefined ? text : undefined;
}

/** `smtp://` or, over TLS from the start, `smtps://`. */
export function parseSmtpUrl(text: string): string | undefined {
  const isUrl = /^smtps?:\/\/[\x21-\x7e]+$/.test(text) && URL.canParse(text);
  return isUrl && explainCredentials(text) === undefined ? text : undefined;
}

/** Returns the fault of a URL whose user and password cannot be decoded. */
export function explainCredentials(text: string): string | undefined {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: '', password: '' };
  return isDecodable(username) && isDecodable(password)
    ? undefined
    : 'its user or password is not percent-encoded UTF-8; write % itself as %25';
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** An https origin, or an http one of this machine, in the form browsers use; a trailing `/` is removed. */
export function parsePublicUrl(text: string): string | undefined {
  const url = text.endsWith('/') ? text.slice(0, -1) : text;
  const origin = parseOrigin(url);
  if (origin === undefined) return undefined;
  const { protocol, hostname } = new URL(origin);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname)) ? origin : undefined;
}
