import { isIP } from 'node:net';
import { conflict } from '../../core/errors/domain-error';

/** The relying party for which passkeys are made: browsers compare it with the page that asks for one. */
export interface RelyingParty {
  /** A host. */
  readonly id: string;
  readonly origin: string;
}

/** @throws CONFLICT without a public URL, or with one of which WebAuthn makes no relying party. */
export function relyingParty(publicUrl: string | null): RelyingParty {
  if (publicUrl === null) throw conflict('Passkeys need PUBLIC_URL, whose host they are made for; it is not set.');
  const { origin, hostname } = new URL(publicUrl);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw conflict('Passkeys are made for a host name, and the host of PUBLIC_URL is an IP address.');
  return { id: hostname, origin };
}
