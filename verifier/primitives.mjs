/**
 * SHA-256 and checks of signatures, for Node.js. `primitives-browser.mjs` has the same exports for a browser; a bundle
 * for a page contains that file instead.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { algorithmOf } from './public-keys.mjs';

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
 * Returns the SHA-256 of a text in lower-case hex.
 * @param {string | Uint8Array} data text counts as UTF-8
 * @returns {string}
 */
export function sha256Hex(data) {
  return createHash('sha256').update(data).digest('hex');
}

/**
 * True if an Ed25519 key has signed a text.
 * @param {Uint8Array} publicKey 32 bytes
 * @param {string} text
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>}
 */
export async function hasSigned(publicKey, text, signature) {
  const key = createPublicKey({ key: Buffer.concat([KEY_PREFIX, publicKey]), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, signature);
}

/**
 * True if a key has signed bytes: ECDSA with P-256 and SHA-256 in DER, Ed25519, or RSASSA-PKCS1-v1_5 with SHA-256.
 * @param {Uint8Array} publicKey DER of a SubjectPublicKeyInfo
 * @param {Uint8Array} data
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>} false for any other key, too
 */
export async function hasSignedBytes(publicKey, data, signature) {
  const algorithm = algorithmOf(publicKey);
  if (algorithm === undefined) return false;
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
    return verify(algorithm === 'EdDSA' ? null : 'sha256', data, key, signature);
  } catch {
    // The key or the signature is malformed.
    return false;
  }
}
