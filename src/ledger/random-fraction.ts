import { randomFillSync } from 'node:crypto';

/** Asked for in bulk: the system's generator takes longer to be asked than to answer. */
const bytes = new Uint8Array(4096);
let used = bytes.length;

/** One of 256 equally likely numbers from 0 up to, not including, 1; from the cryptographic generator. */
export function randomFraction(): number {
  if (used === bytes.length) {
    randomFillSync(bytes);
    used = 0;
  }
  const byte = bytes[used] ?? 0;
  used += 1;
  return byte / 256;
}
