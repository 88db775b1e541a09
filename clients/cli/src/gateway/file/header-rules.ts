import type { Credential } from './gateway-config.js';

const NAME = /^[A-Za-z0-9-]{1,100}$/;
/** Headers of framing and of one hop, and those that the gateway sets itself. */
const OWN: ReadonlySet<string> = new Set([
  ...['connection', 'content-encoding', 'content-length', 'date', 'expect', 'host', 'http2-settings', 'keep-alive'],
  ...['max-forwards', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'via'],
]);
/** Headers that clients must not choose: the encoding or range of the answer, and those that the gateway sends itself. */
const NOT_LISTED: ReadonlySet<string> = new Set([
  ...['accept-encoding', 'content-range', 'content-type', 'cookie', 'cookie2', 'if-range', 'range', 'request-range'],
  ...['traceparent', 'origin'],
]);
/** Names by which programs between the gateway and the upstream may be misled. */
const MISLEADING = /method|forwarded|original-|rewrite|prefix/;
const SECRET = /authorization|api-?key|cookie|credential|passw(?:or)?d|secret|token|jwt|^governance-/;

/** Why a header of the client cannot go on; undefined if it can. @param name in lower case */
export function listedHeaderFault(name: string, credentials: readonly Credential[]): string | undefined {
  if (!NAME.test(name)) return 'must be the name of a header: letters, digits and "-"';
  if (OWN.has(name)) return 'is a header of a single connection, which the gateway sets itself';
  if (NOT_LISTED.has(name)) return 'cannot be taken from clients';
  const misleading = MISLEADING.exec(name)?.[0];
  if (misleading !== undefined)
    return `has "${misleading}" in its name: programs behind the gateway may act on such a header`;
  if (SECRET.test(name) || credentialHeaders(credentials).includes(name))
    return 'carries keys or credentials, which the gateway removes: name the credential under credentials';
  return undefined;
}

/** Why the gateway cannot send a credential or the id of an execution in a header; undefined if it can. */
export function sentHeaderFault(name: string): string | undefined {
  if (!NAME.test(name)) return 'must be the name of a header: letters, digits and "-"';
  const isSet =
    OWN.has(name) || ['accept', 'accept-encoding', 'content-type', 'traceparent', 'user-agent'].includes(name);
  return isSet ? 'is a header that the gateway sets itself' : undefined;
}

/** The headers, in lower case, in which credentials are sent. */
export function credentialHeaders(credentials: readonly Credential[]): string[] {
  return credentials.flatMap((credential) => {
    if (credential.kind === 'header') return [credential.name];
    return credential.kind === 'basic' ? ['authorization'] : [];
  });
}
