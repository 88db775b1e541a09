import { createHmac, randomBytes } from 'node:crypto';
import { sha256 } from '../../ledger/chain/hash-chain';

/** Prefix of a Standard Webhooks secret, before its bytes in base64. */
const MARK = 'whsec_';
const RANDOM_BYTES = 32;
/** Milliseconds for which the previous secret still signs after a new one was created. */
const OVERLAP = 24 * 3_600_000;

/** A secret that deliveries are signed with. */
export interface SigningSecret {
  readonly secret: string;
  /** End of its validity in ISO 8601; null until there is a new one. */
  readonly until: string | null;
}

export function newSecret(): string {
  return MARK + randomBytes(RANDOM_BYTES).toString('base64');
}

/** Returns the secrets after a new one was added: the newest two sign for a day. */
export function withRotation(secrets: readonly SigningSecret[], secret: string, now: string): readonly SigningSecret[] {
  const until = new Date(Date.parse(now) + OVERLAP).toISOString();
  const previous = secrets.slice(0, 1).map((newest) => ({ secret: newest.secret, until }));
  return [{ secret, until: null }, ...previous];
}

/** The secrets that sign at a time. */
export function signingAt(secrets: readonly SigningSecret[], now: string): readonly string[] {
  return secrets.filter(({ until }) => until === null || now < until).map(({ secret }) => secret);
}

/** The signed parts of a delivery, according to the Standard Webhooks specification. */
export interface SignedContent {
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: Buffer;
}

/** Returns one signature for each secret, separated by spaces. */
export function signatures(secrets: readonly string[], content: SignedContent): string {
  return secrets.map((secret) => signature(secret, content)).join(' ');
}

function signature(secret: string, { id, timestamp, body }: SignedContent): string {
  const key = Buffer.from(secret.slice(MARK.length), 'base64');
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
  return `v1,${hmac.digest('base64')}`;
}

/** True if the newest of the stored secrets has the sealed hash. */
export function isOfHash(stored: unknown, sealed: unknown): boolean {
  try {
    const [newest] = JSON.parse(String(stored)) as Partial<SigningSecret>[];
    return typeof newest?.secret === 'string' && sha256(newest.secret) === sealed;
  } catch {
    return false;
  }
}
