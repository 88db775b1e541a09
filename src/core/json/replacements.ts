import type { JsonValue } from './json-value';

/** The member of an object that stands for a secret. */
export const SECRET = '$secret';
/** The member that stands for a hash which a client sent. */
export const HMAC = '$hmac';

/** The member next to `$hmac`: the length of the hashed text in bytes. */
export const BYTES = 'bytes';
const HASH_MEMBERS = 2;

/** True for an object that stands for a secret, `{ $secret }`. */
export function isSecretReplacement(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return typeof (value as Readonly<Record<string, unknown>>)[SECRET] === 'string' && Object.keys(value).length === 1;
}

/** True for an object that stands for a text by its hash, `{ $hmac, bytes }`. */
export function isHashReplacement(value: JsonValue | undefined): boolean {
  return hasHash(value, HMAC);
}

/** True for an object that has a hash under this name, the number of bytes, and nothing else. */
export function hasHash(value: JsonValue | undefined, name: string): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.hasOwn(value, name) && Object.hasOwn(value, BYTES) && Object.keys(value).length === HASH_MEMBERS;
}
