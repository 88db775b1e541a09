import { hash, randomBytes } from 'node:crypto';

/** What Standard Webhooks begin a secret with; the rest is its bytes in base64. */
const MARK = 'whsec_';
const RANDOM_BYTES = 32;
/** Milliseconds for which the previous secret signs, too, once there is a new one. */
const OVERLAP = 24 * 3_600_000;

/** A secret that deliveries are signed with. */
export interface SigningSecret {
  readonly secret: string;
  /** ISO 8601: it signs before; null: until there is a new one. */
  readonly until: string | null;
}

export function newSecret(): string {
  return MARK + randomBytes(RANDOM_BYTES).toString('base64');
}

/** All that the sealed state has of a secret: SHA-256, in hex. */
export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** The secrets once there is a new one: the newest two sign for a day. */
export function rotated(secrets: readonly SigningSecret[], secret: string, now: string): readonly SigningSecret[] {
  const until = new Date(Date.parse(now) + OVERLAP).toISOString();
  const previous = secrets.slice(0, 1).map((newest) => ({ secret: newest.secret, until }));
  return [{ secret, until: null }, ...previous];
}

/** The secrets that sign at a time. */
export function signingAt(secrets: readonly SigningSecret[], now: string): readonly string[] {
  return secrets.filter(({ until }) => until === null || now < until).map(({ secret }) => secret);
}

/** The bytes that a secret stands for. */
export function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(MARK.length), 'base64');
}

/** Whether the newest of stored secrets is the one that was sealed. */
export function isOfHash(stored: unknown, sealed: unknown): boolean {
  try {
    const [newest] = JSON.parse(String(stored)) as Partial<SigningSecret>[];
    return typeof newest?.secret === 'string' && hashOfSecret(newest.secret) === sealed;
  } catch {
    return false;
  }
}
