/**
 * The exports of `primitives.mjs` for a page. SHA-256 is computed here, since a browser has it only on pages that come
 * by https or from the same machine, and only asynchronously.
 */
import { hexOf } from './bytes.mjs';
import { algorithmOf } from './public-keys.mjs';

const WORD = 2 ** 32;
const PRIMES = firstPrimes(64);
/** The first 32 bits of the fractional parts of square and cube roots (FIPS 180-4, 4.2.2 and 5.3.3). */
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const CONSTANTS = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

/**
 * @param {string | Uint8Array} data text counts as UTF-8
 * @returns {Uint8Array}
 */
export function sha256(data) {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  const blocks = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(blocks.buffer).set(bytes);
  blocks.setUint8(bytes.length, 0x80);
  blocks.setUint32(blocks.byteLength - 8, Math.floor((bytes.length * 8) / WORD));
  blocks.setUint32(blocks.byteLength - 4, (bytes.length * 8) % WORD);
  const hash = Int32Array.from(START);
  const schedule = new Int32Array(64);
  for (let offset = 0; offset < blocks.byteLength; offset += 64) addBlock(hash, schedule, blocks, offset);
  const digest = new DataView(new ArrayBuffer(32));
  hash.forEach((word, index) => digest.setInt32(index * 4, word));
  return new Uint8Array(digest.buffer);
}

/**
 * Returns the SHA-256 of a text in lower-case hex.
 * @param {string | Uint8Array} data text counts as UTF-8
 */
export function sha256Hex(data) {
  return hexOf(sha256(data));
}

/**
 * True if an Ed25519 key has signed a text.
 * @param {Uint8Array} publicKey 32 bytes
 * @param {string} text
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>}
 * @throws where the browser, or a page that came by http, has no Ed25519
 */
export async function hasSigned(publicKey, text, signature) {
  const key = await crypto.subtle.importKey('raw', Uint8Array.from(publicKey), 'Ed25519', false, ['verify']);
  return crypto.subtle.verify('Ed25519', key, Uint8Array.from(signature), new TextEncoder().encode(text));
}

const KEYS = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
};

/**
 * True if a key has signed bytes: ECDSA with P-256 and SHA-256 in DER, Ed25519, or RSASSA-PKCS1-v1_5 with SHA-256.
 * @param {Uint8Array} publicKey DER of a SubjectPublicKeyInfo
 * @param {Uint8Array} data
 * @param {Uint8Array} signature
 * @returns {Promise<boolean>} false for any other key, too
 * @throws where the page came by http
 */
export async function hasSignedBytes(publicKey, data, signature) {
  const algorithm = algorithmOf(publicKey);
  const { subtle } = crypto;
  const plainSignature = algorithm === 'ES256' ? numbersIn(signature) : signature;
  if (algorithm === undefined || plainSignature === undefined) return false;
  try {
    const key = await subtle.importKey('spki', Uint8Array.from(publicKey), KEYS[algorithm], false, ['verify']);
    return await subtle.verify(KEYS[algorithm], key, Uint8Array.from(plainSignature), Uint8Array.from(data));
  } catch {
    // The key or the signature is malformed.
    return false;
  }
}

/**
 * Returns the two numbers of an ECDSA signature, 32 bytes each, which Web Cryptography takes in place of DER (RFC
 * 3279).
 * @param {Uint8Array} der
 * @returns {Uint8Array | undefined}
 */
function numbersIn(der) {
  const both = new Uint8Array(64);
  let offset = 2;
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  for (const end of [32, 64]) {
    const length = der[offset + 1] ?? 0;
    const number = der.subarray(offset + 2, offset + 2 + length);
    if (der[offset] !== 0x02 || number.length !== length || !isShort(number)) return undefined;
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (digits.length > 32) return undefined;
    both.set(digits, end - digits.length);
    offset += 2 + length;
  }
  return offset === der.length ? both : undefined;
}

/**
 * True if the bytes are a positive number in its only spelling.
 * @param {Uint8Array} number
 */
function isShort([first, second = 0]) {
  return first !== undefined && first < 0x80 && (first !== 0 || second >= 0x80);
}

/**
 * Adds a block to the hash, by FIPS 180-4, 6.2.2.
 * @param {Int32Array} hash
 * @param {Int32Array} schedule room for the words of a block
 * @param {DataView} blocks
 * @param {number} offset
 */
function addBlock(hash, schedule, blocks, offset) {
  for (let index = 0; index < 64; index += 1)
    schedule[index] = index < 16 ? blocks.getInt32(offset + index * 4) : next(schedule, index);
  let [a, b, c, d, e, f, g, h] = /** @type {[number, number, number, number, number, number, number, number]} */ (
    /** @type {unknown} */ (Array.from(hash))
  );
  for (let index = 0; index < 64; index += 1) {
    const first =
      h +
      (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
      ((e & f) ^ (~e & g)) +
      word(CONSTANTS, index) +
      word(schedule, index);
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) hash[index] = word(hash, index) + value;
}

/**
 * @param {Int32Array} schedule
 * @param {number} index
 */
function next(schedule, index) {
  const [early, late] = [word(schedule, index - 15), word(schedule, index - 2)];
  const first = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
  const second = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
  return (word(schedule, index - 16) + first + word(schedule, index - 7) + second) | 0;
}

/**
 * @param {ArrayLike<number>} words
 * @param {number} index
 */
function word(words, index) {
  return words[index] ?? 0;
}

/**
 * @param {number} value
 * @param {number} bits
 */
function rotated(value, bits) {
  return (value >>> bits) | (value << (32 - bits));
}

/** @param {number} root */
function fraction(root) {
  return Math.floor((root - Math.floor(root)) * WORD) | 0;
}

/** @param {number} count */
function firstPrimes(count) {
  /** @type {number[]} */
  const primes = [];
  for (let number = 2; primes.length < count; number += 1) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
}
