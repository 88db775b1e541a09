import { randomBytes } from 'node:crypto';

/** The prefix of every secret, so that code scanners recognise a leaked one. */
const MARK = 'agk_';
const RANDOM_BYTES = 32;
/** `agk_` and a ULID. */
const PREFIX_LENGTH = MARK.length + 26;
const SECRET = /^agk_[0-9A-HJKMNP-TV-Z]{26}_[A-Za-z0-9_-]{43}$/;

/** The secret part of a key, in 43 characters of base64url. */
export function randomPart(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** The prefix of a key's secret. @param id such as `key_01K…`. */
export function prefixOf(id: string): string {
  return MARK + id.slice(id.indexOf('_') + 1);
}

/** The prefix that identifies the key of a secret; null if the text cannot be a secret. */
export function prefixIn(secret: string): string | null {
  return SECRET.test(secret) ? secret.slice(0, PREFIX_LENGTH) : null;
}
