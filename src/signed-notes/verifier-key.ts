import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { ED25519, keyIdOf, type SignedNote } from './signed-note';

/** A name and a public key to check signatures with: https://c2sp.org/signed-note. */
export interface VerifierKey {
  readonly name: string;
  /** Hex, 8 digits. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** `unknown_key`: none of the signatures is by a known key. `invalid`: one claims to be, and is not. */
export type SignatureVerdict = 'valid' | 'unknown_key' | 'invalid';

/** DER encoding of an Ed25519 public key up to the 32 bytes of the key: RFC 8410, section 4. */
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;
const VERIFIER_KEY = /^(?<name>[^\s+]+)\+(?<keyId>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/]+=*)$/u;

/** `<name>+<key id>+<base64 of 0x01 ‖ public key>`; undefined if the text is not one, or its key id does not match. */
export function parseVerifierKey(text: string): VerifierKey | undefined {
  const { name, keyId, key } = VERIFIER_KEY.exec(text)?.groups ?? {};
  if (name === undefined || keyId === undefined || key === undefined) return undefined;
  const bytes = Buffer.from(key, 'base64');
  const isKey = bytes.toString('base64') === key && bytes.length === 1 + KEY_BYTES && bytes[0] === ED25519;
  const raw = bytes.subarray(1);
  if (!isKey || keyIdOf(name, raw) !== keyId) return undefined;
  const der = Buffer.concat([PUBLIC_KEY_PREFIX, raw]);
  return { name, keyId, publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }) };
}

export function verifierKeyText({ name, keyId, publicKey }: VerifierKey): string {
  const bytes = Buffer.concat([Buffer.of(ED25519), rawPublicKey(publicKey)]);
  return `${name}+${keyId}+${bytes.toString('base64')}`;
}

/** The 32 bytes of an Ed25519 public key. */
export function rawPublicKey(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_KEY_PREFIX.length);
}

/** An invalid signature by a known key makes the note invalid, whatever else it carries. */
export function signatureVerdict(note: SignedNote, known: readonly VerifierKey[]): SignatureVerdict {
  const text = Buffer.from(note.text, 'utf8');
  const verdicts = note.signatures.flatMap(({ name, keyId, signature }) =>
    known
      .filter((key) => key.name === name && key.keyId === keyId)
      .map(({ publicKey }) => verify(null, text, publicKey, signature)),
  );
  if (verdicts.includes(false)) return 'invalid';
  return verdicts.length > 0 ? 'valid' : 'unknown_key';
}
