import { hexOf } from './bytes.mjs';

/**
 * Algorithm of a public key that signs approvals. The bytes of the key, DER of a SubjectPublicKeyInfo (RFC 5280), show
 * it.
 * @typedef {'ES256' | 'EdDSA' | 'RS256'} Algorithm
 */

/** Bytes in hex before a key of P-256 and of Ed25519 (RFC 5480, RFC 8410). */
const P256 = '3059301306072a8648ce3d020106082a8648ce3d03010703420004';
const ED25519 = '302a300506032b6570032100';
/** The algorithm of an RSA key in hex (RFC 8017), between the two lengths. */
const RSA_ALGORITHM = '300d06092a864886f70d0101010500';
const MIN_RSA_BYTES = 256;
const MAX_RSA_BYTES = 2_048;

/**
 * @param {Uint8Array} key
 * @returns {Algorithm | undefined} undefined for any other kind of key, and for another spelling of one: two spellings
 *   of one key could count as the keys of two people
 */
export function algorithmOf(key) {
  if (key.length > 2 * MAX_RSA_BYTES) return undefined;
  const hex = hexOf(key);
  if (hex.startsWith(P256) && key.length === 91) return 'ES256';
  if (hex.startsWith(ED25519) && key.length === 44) return 'EdDSA';
  return isRsaKey(hex) ? 'RS256' : undefined;
}

/**
 * True for an RSA key in its only spelling: it is written again from its two numbers.
 * @param {string} hex
 */
function isRsaKey(hex) {
  const numbers = hex.slice(hex.indexOf(RSA_ALGORITHM) + RSA_ALGORITHM.length + 18);
  const modulus = valueAt(numbers, 0);
  const exponent = valueAt(numbers, elementOf('02', modulus).length);
  const bytes = modulus.replace(/^(?:00)+/u, '').length / 2;
  if (!isNumber(modulus) || !isNumber(exponent) || bytes < MIN_RSA_BYTES || bytes > MAX_RSA_BYTES) return false;
  const sequence = elementOf('30', elementOf('02', modulus) + elementOf('02', exponent));
  return hex === elementOf('30', RSA_ALGORITHM + elementOf('03', `00${sequence}`));
}

/**
 * Returns the value of a DER element; empty if there is none.
 * @param {string} hex
 * @param {number} start
 */
function valueAt(hex, start) {
  const first = Number.parseInt(hex.slice(start + 2, start + 4), 16);
  const lengthDigits = first < 0x80 ? 0 : 2 * (first - 0x80);
  const length = lengthDigits === 0 ? first : Number.parseInt(hex.slice(start + 4, start + 4 + lengthDigits), 16);
  const content = start + 4 + lengthDigits;
  return Number.isSafeInteger(length) ? hex.slice(content, content + 2 * length) : '';
}

/**
 * Writes a DER element.
 * @param {string} tag
 * @param {string} value in hex
 */
function elementOf(tag, value) {
  const length = value.length / 2;
  const digits = length.toString(16);
  const evenDigits = digits.padStart(digits.length + (digits.length % 2), '0');
  const prefix = length < 0x80 ? '' : (0x80 + evenDigits.length / 2).toString(16);
  return tag + prefix + evenDigits + value;
}

/**
 * True if the bytes are a positive number in its only spelling.
 * @param {string} hex
 */
function isNumber(hex) {
  const [first, second] = [hex.slice(0, 2), hex.slice(2, 4)];
  return first === '00' ? second >= '80' : first !== '' && first < '80';
}
