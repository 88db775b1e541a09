/**
 * Faults of a connection that was never made, so that nothing was sent. Outside Node.js, `fetch` does not tell them
 * apart.
 */
const NEVER_CONNECTED: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the host is unknown',
  EAI_AGAIN: 'the host cannot be looked up now',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to its network',
  UND_ERR_CONNECT_TIMEOUT: 'it took too long to connect',
};

/** Faults before anything is sent that a later attempt does not mend. */
const REFUSED_HERE: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  'bad port': 'HTTP clients refuse to use this port',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted here (NODE_EXTRA_CA_CERTS)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted here (NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted here (NODE_EXTRA_CA_CERTS)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted here (NODE_EXTRA_CA_CERTS)',
};

const NO_TLS = 'what listens there does not speak TLS, as https:// needs';
/**
 * Further faults that a later attempt does not mend. They can come in the middle of an answer, too, if a proxy stops
 * speaking TLS.
 */
const NO_LONGER_TLS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

/** Faults of a connection on which the request may have been sent. */
const BROKEN: Readonly<Record<string, string>> = {
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  ETIMEDOUT: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  EPROTO: 'TLS failed',
};

/** True if `fetch` threw this before it had sent anything. */
export function wasNeverConnected(thrown: unknown): boolean {
  return Object.hasOwn({ ...NEVER_CONNECTED, ...REFUSED_HERE }, codeOf(thrown));
}

/** True if nobody listens at the address. */
export function wasRefused(thrown: unknown): boolean {
  return codeOf(thrown) === 'ECONNREFUSED';
}

/** True if `fetch` threw this because of the address, or the server at it, so that a later attempt fails as well. */
export function isUnusable(thrown: unknown): boolean {
  return Object.hasOwn({ ...REFUSED_HERE, ...NO_LONGER_TLS }, codeOf(thrown));
}

/** Returns, in a few words, the reason for which `fetch` threw this; null if it is unknown. */
export function connectionFault(thrown: unknown): string | null {
  const all = { ...NEVER_CONNECTED, ...REFUSED_HERE, ...NO_LONGER_TLS, ...BROKEN };
  const code = codeOf(thrown);
  return Object.hasOwn(all, code) ? (all[code] ?? null) : null;
}

/**
 * Returns the message for a service that cannot be reached.
 * @param thrown the value that `fetch` threw
 */
export function unreachableText(url: string, thrown: unknown): string {
  const fault = connectionFault(thrown);
  return `The governance service at ${url} cannot be reached${fault === null ? '' : `: ${fault}`}.`;
}

function codeOf(thrown: unknown): string {
  const { cause } = (thrown ?? {}) as { cause?: { code?: unknown; message?: unknown } | null };
  return String(cause?.code ?? cause?.message);
}
