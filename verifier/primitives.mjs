/**
 * The two primitives that everything rests on, for Node.js. `primitives-browser.mjs` has the same exports; a bundle for
 * a page takes that one.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';

/** Precedes the bytes of an Ed25519 key in DER (RFC 8410). */
const KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * @param {string | Uint8Array} data text counts as UTF-8
 * @returns {Uint8Array}
 */
export function sha256(data) {
  return createHash('sha256').update(data).digest();
}

/**
 * In lower-case hex.
 * @param {string | Uint8Array} data text counts as UTF-8
 * @returns {string}
 */
export function sha256Hex(data) {
  return createHash('sha256').update(data).digest('hex');
}

/**
 * Whether an Ed25519 key has signed a text.
 * @param {Uint8Array} publicKey 32 bytes
 * @param {string} text
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>}
 */
export async function hasSigned(publicKey, text, signature) {
  const key = createPublicKey({ key: Buffer.concat([KEY_PREFIX, publicKey]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, signature);
}
