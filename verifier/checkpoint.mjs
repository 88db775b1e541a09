import { bytesOfBase64, hexOf } from './bytes.mjs';
import { hasSigned, sha256Hex } from './primitives.mjs';

const ED25519 = 1;
const SIZE = /^(0|[1-9]\d{0,15})$/;

/**
 * @typedef {object} Checkpoint
 * @property {string} origin
 * @property {number} size
 * @property {Uint8Array} root
 * @property {string} signed the text that the signatures cover
 * @property {{ name: string, keyId: string, signature: Uint8Array }[]} signatures
 *
 * @typedef {object} VerifierKey
 * @property {string} name
 * @property {string} keyId in hex
 * @property {Uint8Array} key
 */

/**
 * Reads a C2SP tlog-checkpoint in a signed note (https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note).
 * @param {string} text
 * @returns {Checkpoint}
 * @throws {Error} if it is not one
 */
export function parseCheckpoint(text) {
  const end = text.lastIndexOf('\n\n');
  if (end === -1 || !text.endsWith('\n')) throw new Error('no signed note: an empty line and signatures are to follow');
  const signed = text.slice(0, end + 1);
  const [origin, size, root] = signed.split('\n');
  if (!origin || size === undefined || !SIZE.test(size))
    throw new Error('its first lines are not an origin and a size');
  const rootHash = bytesOfBase64(root ?? '');
  if (rootHash?.length !== 32) throw new Error('its third line is not a SHA-256 hash in base64');
  const signatures = text
    .slice(end + 2, -1)
    .split('\n')
    .map(parseSignature);
  return { origin, size: Number(size), root: rootHash, signed, signatures };
}

/** @param {string} line */
function parseSignature(line) {
  const [, name, base64] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
  const bytes = bytesOfBase64(base64 ?? '*');
  if (name === undefined || bytes === undefined) throw new Error('a signature line is malformed');
  if (bytes.length < 5) throw new Error('a signature is too short');
  return { name, keyId: hexOf(bytes.subarray(0, 4)), signature: bytes.subarray(4) };
}

/**
 * Reads a verifier key: `<name>+<key id>+<base64 of 0x01 and the key>`.
 * @param {string} text
 * @returns {VerifierKey}
 * @throws {Error} if it is not one
 */
export function parseVerifierKey(text) {
  const [, name, keyId, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = bytesOfBase64(base64 ?? '*');
  if (name === undefined || keyId === undefined || bytes === undefined)
    throw new Error('a public key is <name>+<key id>+<base64>');
  if (bytes.length !== 33 || bytes[0] !== ED25519) throw new Error('only Ed25519 keys are known');
  if (keyIdOf(name, bytes) !== keyId) throw new Error('the key id of the public key does not match its name and bytes');
  return { name, keyId, key: bytes.subarray(1) };
}

/**
 * @param {string} name
 * @param {Uint8Array} typedKey
 */
function keyIdOf(name, typedKey) {
  return sha256Hex(Uint8Array.from([...new TextEncoder().encode(`${name}\n`), ...typedKey])).slice(0, 8);
}

/**
 * True if one of the keys has signed the checkpoint, and every signature that names one of the keys is right.
 * @param {Checkpoint} checkpoint
 * @param {readonly VerifierKey[]} keys
 */
export async function isSigned({ origin, signed, signatures }, keys) {
  const results = [];
  for (const signature of signatures) {
    const signingKey = keyOf(signature, keys);
    if (signingKey?.name === origin) results.push(await hasSigned(signingKey.key, signed, signature.signature));
  }
  return results.length > 0 && results.every(Boolean);
}

/**
 * @param {Checkpoint['signatures'][number]} signature
 * @param {readonly VerifierKey[]} keys
 * @returns {VerifierKey | undefined} the key that it names
 */
export function keyOf({ name, keyId }, keys) {
  return keys.find((key) => key.name === name && key.keyId === keyId);
}
