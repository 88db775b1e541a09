import { hexOf } from './bytes.mjs';

/**
 * The public keys that sign approvals: DER of a SubjectPublicKeyInfo (RFC 5280), by the bytes with which each kind begins.
 *
 * @typedef {'ES256' | 'EdDSA' | 'RS256'} Algorithm
 */

/** Of P-256 and Ed25519 all but the key itself (RFC 5480, RFC 8410), which follows. */
const P256 = '3059301306072a8648ce3d020106082a8648ce3d03010703420004';
const ED25519 = '302a300506032b6570032100';
/** Of RSA (RFC 8017) the algorithm, after two lengths. */
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
