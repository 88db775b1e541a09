import { isIP } from 'node:net';
import { conflict } from '../../core/errors/domain-error';

/** The relying party for which passkeys are made: browsers compare it with the page that asks for one. */
export interface RelyingParty {
  /** A host. */
  readonly id: string;
  readonly origin: string;
}

/** Null without a public URL, and with one of which WebAuthn makes no relying party. */
export function partyOf(publicUrl: string | null): RelyingParty | null {
  if (publicUrl === null) return null;
  const { origin, hostname } = new URL(publicUrl);
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null;
}

/** @throws CONFLICT where there is none. */
export function relyingParty(publicUrl: string | null): RelyingParty {
  const party = partyOf(publicUrl);
  if (party !== null) return party;
  throw conflict(
    publicUrl === null
      ? 'Passkeys need PUBLIC_URL, whose host they are made for; it is not set.'
      : 'Passkeys are made for a host name, and the host of PUBLIC_URL is an IP address.',
  );
}
