import { randomFillSync } from 'node:crypto';

/** Drawn in bulk: a call to the system's generator costs more than the bytes do. */
const drawn = Buffer.alloc(4_096);
let used = drawn.length;

/** Random bytes from the cryptographic generator, to be read before more are asked for. */
function randomBytes(count: number): Buffer {
  if (used + count > drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += count;
  return drawn.subarray(used - count, used);
}

/** Returns, call by call, this many random numbers in [0, 1): one of 256 for each byte. */
export function randomFractions(count: number): () => number {
  const bytes = randomBytes(count);
  let read = 0;
  return () => bytes.readUInt8(read++) / 256;
}

/** 16 random bytes as 22 characters of base64url: without them, nobody can guess from a hash what it covers. */
export function newSalt(): string {
  return randomBytes(16).toString('base64url');
}
