import { hexOf } from './bytes.mjs';

/**
 * Algorithm of a public key that signs approvals. The first bytes of the key, DER of a SubjectPublicKeyInfo (RFC 5280),
 * show it.
 * @typedef {'ES256' | 'EdDSA' | 'RS256'} Algorithm
 */

/** Bytes in hex before a key of P-256 and of Ed25519 (RFC 5480, RFC 8410). */
const P256 = '3059301306072a8648ce3d020106082a8648ce3d03010703420004';
const ED25519 = '302a300506032b6570032100';
/** Matches the first bytes in hex of an RSA key (RFC 8017): two lengths and the algorithm. */
const RSA = /^3082.{4}300d06092a864886f70d010101050003/u;

/**
 * @param {Uint8Array} key
 * @returns {Algorithm | undefined} undefined for any other kind of key
 */
export function algorithmOf(key) {
  const hex = hexOf(key);
  if (hex.startsWith(P256) && key.length === 91) return 'ES256';
  if (hex.startsWith(ED25519) && key.length === 44) return 'EdDSA';
  return RSA.test(hex) ? 'RS256' : undefined;
}
