import { createHash, type Hash } from 'node:crypto';

/** Bytes that are hashed or searched without a pause. */
export const STEP_BYTES = 1024 * 1024;

/** Adds the bytes of a body to a hash. Yields where others may be served. @returns the hash in hex */
export function* hashBody(
  pieces: readonly Uint8Array[],
  hash: Hash = createHash('sha256'),
): Generator<undefined, string, undefined> {
  let bytes = 0;
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; start += STEP_BYTES) {
      const part = piece.subarray(start, start + STEP_BYTES);
      bytes += part.length;
      if (bytes > STEP_BYTES) {
        yield;
        bytes = part.length;
      }
      hash.update(part);
    }
  }
  return hash.digest('hex');
}
