import { constants, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';

/** The accepted algorithms, each only with a key of its own type; never `none` or those with a shared secret. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

const SHORTEST_RSA = 2048;
const PSS_SALT = 32;
const P256_SIGNATURE = 64;

/** A public key for verifying tokens. */
export interface TokenKey {
  readonly kid: string | null;
  readonly algorithms: readonly Algorithm[];
  readonly key: KeyObject;
  /** Identifies the key by its content, whatever its name: the same after the next fetch. */
  readonly thumbprint: string;
}

/** The usable keys of a key set; others are skipped. Undefined if it is not a key set. */
export function tokenKeys(text: string): readonly TokenKey[] | undefined {
  const set = parsed(text) as { readonly keys?: unknown } | null | undefined;
  if (!Array.isArray(set?.keys)) return undefined;
  return set.keys.flatMap((jwk: unknown) => tokenKey(jwk) ?? []);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tokenKey(value: unknown): TokenKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const jwk = value as JsonWebKey & { readonly kid?: unknown; readonly use?: unknown; readonly alg?: unknown };
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined;
  const key = publicKey(jwk);
  const algorithms =
    key === undefined ? [] : algorithmsOf(key).filter((name) => jwk.alg === undefined || jwk.alg === name);
  if (key === undefined || algorithms.length === 0) return undefined;
  const thumbprint = key.export({ type: 'spki', format: 'der' }).toString('base64');
  return { kid: typeof jwk.kid === 'string' ? jwk.kid : null, algorithms, key, thumbprint };
}

function publicKey({ kty, n, e, crv, x, y }: JsonWebKey): KeyObject | undefined {
  if (kty !== 'RSA' && kty !== 'EC' && kty !== 'OKP') return undefined;
  try {
    // The public members only: even if a private key was published by mistake, it serves as a public one here.
    const members = Object.entries({ kty, n, e, crv, x, y }).filter(([, member]) => member !== undefined);
    return createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm[] {
  if (asymmetricKeyType === 'rsa')
    return (asymmetricKeyDetails?.modulusLength ?? 0) >= SHORTEST_RSA ? ['RS256', 'PS256'] : [];
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'prime256v1' ? ['ES256'] : [];
  return asymmetricKeyType === 'ed25519' ? ['EdDSA'] : [];
}

/** Whether the key has signed the text, using the algorithm. */
export function isSigned(algorithm: Algorithm, key: KeyObject, signed: string, signature: Buffer): boolean {
  const bytes = Buffer.from(signed);
  switch (algorithm) {
    case 'RS256':
      return verify('sha256', bytes, { key, padding: constants.RSA_PKCS1_PADDING }, signature);
    case 'PS256':
      return verify(
        'sha256',
        bytes,
        { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: PSS_SALT },
        signature,
      );
    case 'ES256':
      return (
        signature.length === P256_SIGNATURE && verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, signature)
      );
    case 'EdDSA':
      return verify(null, bytes, key, signature);
  }
}
