import { constants, createPublicKey, type JsonWebKey, type KeyObject, type SigningOptions, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { unavailable } from '../../core/errors/domain-error';
import { parsedJson } from '../../core/json/json-value';

/** The accepted algorithms, each only with a key of its own type; never `none` or those with a shared secret. */
export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

const MIN_RSA_BITS = 2048;
const PSS_SALT = 32;
const P256_SIGNATURE = 64;

/** A public key for verifying tokens. */
export interface TokenKey {
  readonly kid: string | null;
  readonly algorithms: readonly Algorithm[];
  readonly key: KeyObject;
  /** Identifies the key by its content, not its name, so that it is the same after the next fetch. */
  readonly thumbprint: string;
}

/** Parses a key; undefined if it is not usable. */
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
    // Copies the public members only, so that a private key that was published by mistake serves as a public one.
    const members = Object.entries({ kty, n, e, crv, x, y }).filter(([, member]) => member !== undefined);
    return createPublicKey({ key: Object.fromEntries(members) as JsonWebKey, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm[] {
  if (asymmetricKeyType === 'rsa')
    return (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS ? ['RS256', 'PS256'] : [];
  if (asymmetricKeyType === 'ec') return asymmetricKeyDetails?.namedCurve === 'prime256v1' ? ['ES256'] : [];
  return asymmetricKeyType === 'ed25519' ? ['EdDSA'] : [];
}

/** Signing options of each algorithm besides its hash. */
const SIGNING: Readonly<Record<Algorithm, SigningOptions>> = {
  RS256: { padding: constants.RSA_PKCS1_PADDING },
  PS256: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: PSS_SALT },
  ES256: { dsaEncoding: 'ieee-p1363' },
  EdDSA: {},
};

/** True if the key has signed the text with the algorithm. */
export function isSigned(algorithm: Algorithm, key: KeyObject, signed: string, signature: Buffer): boolean {
  if (algorithm === 'ES256' && signature.length !== P256_SIGNATURE) return false;
  const hash = algorithm === 'EdDSA' ? null : 'sha256';
  return verify(hash, Buffer.from(signed), { key, ...SIGNING[algorithm] }, signature);
}

/**
 * Milliseconds until keys are fetched again. Checks are up to a minute and a half apart, and keys must be at most ten
 * minutes old.
 */
const REFRESH = 8 * 60_000;
const RETRY = 30_000;
const MAX_FETCH_MS = 5_000;
const MAX_USE_MS = 24 * 3_600_000;
const MAX_BYTES = 1024 * 1024;
/** Most keys of a set: each takes a fraction of a millisecond to read. */
const MAX_KEYS = 100;

/** The keys of one issuer, fetched periodically; while it cannot be reached, the last ones stay valid for a day. */
export class KeySet {
  private keys: readonly TokenKey[] | null = null;
  /** Monotonic milliseconds of the last successful fetch, and of the last attempt. */
  private fetchedAt = 0;
  private attemptedAt = -Infinity;
  private fetching: Promise<void> | null = null;

  constructor(
    private readonly source: string,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Known keys, while they are valid. */
  get current(): readonly TokenKey[] {
    const isGood = this.keys !== null && performance.now() - this.fetchedAt < MAX_USE_MS;
    return isGood ? (this.keys ?? []) : [];
  }

  /** True if a key is still listed, and thus trusted. */
  lists(thumbprint: string): boolean {
    return this.current.some((key) => key.thumbprint === thumbprint);
  }

  /** Returns the keys, fetched again if none has this id. @throws UNAVAILABLE if they were never fetched */
  async keysFor(kid: string | null): Promise<readonly TokenKey[]> {
    const isKnown = this.keys !== null && (kid === null || this.current.some((key) => key.kid === kid));
    if (!isKnown && performance.now() - this.attemptedAt >= RETRY) await this.fetch();
    else if (!isKnown) await this.fetching;
    if (this.keys === null) throw unavailable('The keys of the issuer of the token cannot be reached now.');
    return this.current;
  }

  /** Fetches the keys if they are due. */
  async refresh(): Promise<void> {
    if (this.keys === null || performance.now() - this.fetchedAt >= REFRESH) await this.fetch();
  }

  private fetch(): Promise<void> {
    this.attemptedAt = performance.now();
    this.fetching ??= this.read()
      .catch(this.onFailure)
      .finally(() => (this.fetching = null));
    return this.fetching;
  }

  private async read(): Promise<void> {
    const text = /^https?:\/\//i.test(this.source) ? await fetchText(this.source) : await readFile(this.source, 'utf8');
    const set = parsedJson(text) as { readonly keys?: unknown } | null | undefined;
    if (!Array.isArray(set?.keys)) throw new Error(`The content of ${this.source} is not a key set.`);
    if (set.keys.length > MAX_KEYS) throw new Error(`The key set ${this.source} has more than ${MAX_KEYS} keys.`);
    this.keys = set.keys.flatMap((jwk: unknown) => tokenKey(jwk) ?? []);
    this.fetchedAt = performance.now();
  }
}

/**
 * Fetches a document of an issuer. Reads the body at once or gives it up, and never decodes it: the platform's fetch
 * ends the process if a connection ends while its response waits to be read.
 */
export async function fetchText(url: string): Promise<string> {
  const headers = { 'Accept-Encoding': 'identity' };
  const answer = await fetch(url, { redirect: 'error', headers, signal: AbortSignal.timeout(MAX_FETCH_MS) });
  const encoding = answer.headers.get('Content-Encoding') ?? 'identity';
  if (!answer.ok || encoding !== 'identity') {
    await answer.body?.cancel();
    throw new Error(answer.ok ? `${url} answered in the encoding ${encoding}.` : `${url} answered ${answer.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`${url} answered with more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
