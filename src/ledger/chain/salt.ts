import { randomFillSync } from 'node:crypto';

/** Bytes of a salt. */
const LENGTH = 16;

/** Drawn in bulk: a call to the system's generator costs more than the bytes do. */
const bytes = Buffer.alloc(256 * LENGTH);
let used = bytes.length;

/** 16 random bytes as 22 characters of base64url: without them, nobody can guess from a hash what it covers. */
export function newSalt(): string {
  if (used === bytes.length) {
    randomFillSync(bytes);
    used = 0;
  }
  used += LENGTH;
  return bytes.toString('base64url', used - LENGTH, used);
}
