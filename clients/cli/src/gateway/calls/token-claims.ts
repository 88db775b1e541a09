import { createHash } from 'node:crypto';

type Claims = Readonly<Record<string, unknown>>;

/**
 * Claims that differ between a token and its renewal, by the standard and at Microsoft Entra. None of them gives
 * rights.
 */
const CLAIMS_OF_ONE_TOKEN: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'uti', 'aio', 'rh']);

/** Reads the claims of a token that the service has accepted; null for keys, which have no dot. */
function claimsOf(key: string): Claims | null {
  const [, claims] = key.split('.');
  return claims === undefined ? null : (JSON.parse(Buffer.from(claims, 'base64url').toString()) as Claims);
}

/**
 * Hash of the claims that can give a token rights, such as its principal and roles: equal for a token and its renewal.
 * Null for keys, whose id stands for their rights. Only the service knows which claims it reads, so all count.
 */
export function rightsOf(key: string): string | null {
  const claims = claimsOf(key);
  if (claims === null) return null;
  const lasting = Object.entries(claims).filter(([name]) => !CLAIMS_OF_ONE_TOKEN.has(name));
  lasting.sort(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(lasting)).digest('base64url');
}

/** Milliseconds until a token ends by its own claim, after which its client has to get a 401. Infinity for keys. */
export function remainingMs(key: string): number {
  const claims = claimsOf(key);
  return claims === null ? Infinity : 1_000 * (claims as { readonly exp: number }).exp - Date.now();
}
