import { createHash, createPublicKey, verify } from 'node:crypto';

const ED25519 = 1;
const SIZE = /^(0|[1-9]\d{0,15})$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Precedes the bytes of an Ed25519 key in DER (RFC 8410). */
const KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/**
 * @typedef {object} Checkpoint
 * @property {string} origin
 * @property {number} size
 * @property {Buffer} root
 * @property {string} signed the text that the signatures cover
 * @property {{ name: string, keyId: string, signature: Buffer }[]} signatures
 *
 * @typedef {object} VerifierKey
 * @property {string} name
 * @property {string} keyId in hex
 * @property {import('node:crypto').KeyObject} key
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
  if (root === undefined || !BASE64.test(root) || Buffer.from(root, 'base64').length !== 32) {
    throw new Error('its third line is not a SHA-256 hash in base64');
  }
  const signatures = text
    .slice(end + 2, -1)
    .split('\n')
    .map(parseSignature);
  return { origin, size: Number(size), root: Buffer.from(root, 'base64'), signed, signatures };
}

/** @param {string} line */
function parseSignature(line) {
  const [, name, base64] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
  if (name === undefined || base64 === undefined || !BASE64.test(base64))
    throw new Error('a signature line is malformed');
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length < 5) throw new Error('a signature is too short');
  return { name, keyId: bytes.subarray(0, 4).toString('hex'), signature: bytes.subarray(4) };
}

/**
 * Reads a verifier key: `<name>+<key id>+<base64 of 0x01 and the key>`.
 * @param {string} text
 * @returns {VerifierKey}
 * @throws {Error} if it is not one
 */
export function parseVerifierKey(text) {
  const [, name, keyId, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  if (name === undefined || base64 === undefined || !BASE64.test(base64)) {
    throw new Error('a public key is <name>+<key id>+<base64>');
  }
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 33 || bytes[0] !== ED25519) throw new Error('only Ed25519 keys are known');
  if (keyIdOf(name, bytes) !== keyId) throw new Error('the key id of the public key is not that of its name and bytes');
  const key = createPublicKey({ key: Buffer.concat([KEY_PREFIX, bytes.subarray(1)]), format: 'der', type: 'spki' });
  return { name, keyId, key };
}

/**
 * @param {string} name
 * @param {Uint8Array} typedKey
 */
function keyIdOf(name, typedKey) {
  return createHash('sha256').update(`${name}\n`).update(typedKey).digest('hex').slice(0, 8);
}

/**
 * Whether one of the keys has signed the checkpoint, and no signature that names one of them is wrong.
 * @param {Checkpoint} checkpoint
 * @param {readonly VerifierKey[]} keys
 */
export function isSigned({ origin, signed, signatures }, keys) {
  const checked = signatures.flatMap(({ name, keyId, signature }) => {
    const known = keys.find((key) => key.name === name && key.keyId === keyId && key.name === origin);
    return known === undefined ? [] : [verify(null, Buffer.from(signed), known.key, signature)];
  });
  return checked.length > 0 && checked.every(Boolean);
}
