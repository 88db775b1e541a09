import { hash as digest, createPublicKey, verify, type KeyObject, createPrivateKey, sign } from 'node:crypto';

/** One line of a signed note: who signed, with which key, and the signature. */
interface NoteSignature {
  readonly name: string;
  /** Eight hex digits that distinguish keys with the same name. */
  readonly keyId: string;
  readonly signature: Buffer;
}

/** A text and its signatures: https://c2sp.org/signed-note. */
export interface SignedNote {
  /** The signed text, including its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Algorithm byte of Ed25519 signatures over the text. */
const ED25519 = 0x01;

const SIGNATURE_LINE = /^\u2014 (?<name>[^\s+]+) (?<value>[A-Za-z0-9+/]+={0,2})$/u;
const KEY_ID_BYTES = 4;

/** First four bytes of SHA-256(name ‖ 0x0A ‖ algorithm ‖ public key), in hex. */
function keyIdOf(name: string, publicKey: Buffer): string {
  const input = Buffer.concat([Buffer.from(`${name}\n`, 'utf8'), Buffer.of(ED25519), publicKey]);
  return digest('sha256', input, 'hex').slice(0, 2 * KEY_ID_BYTES);
}

export function formatNote({ text, signatures }: SignedNote): string {
  const lines = signatures.map(({ name, keyId, signature }) => {
    const value = Buffer.concat([Buffer.from(keyId, 'hex'), signature]).toString('base64');
    return `\u2014 ${name} ${value}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

/** Parses a note; returns the fault, as the end of a sentence, if it cannot be parsed. */
export function parseNote(note: string): SignedNote | string {
  if (Array.from(note).some(isControlCharacter)) return 'must not hold control characters other than newlines';
  const split = note.lastIndexOf('\n\n');
  if (split < 0) return 'must have an empty line between its text and its signatures';
  if (!note.endsWith('\n')) {
    return 'must end with the newline of its last line, which a shell drops from captured output';
  }
  const lines = note.slice(split + 2, -1).split('\n');
  const signatures = lines.map(parseSignature);
  const isReadable = (signature: NoteSignature | null): signature is NoteSignature => signature !== null;
  if (!signatures.every(isReadable)) {
    return 'must have only lines "— <name> <base64 of key id and signature>" after its empty line, one at least';
  }
  return { text: note.slice(0, split + 1), signatures };
}

function parseSignature(line: string): NoteSignature | null {
  const { name, value } = SIGNATURE_LINE.exec(line)?.groups ?? {};
  if (name === undefined || value === undefined) return null;
  const bytes = Buffer.from(value, 'base64');
  if (bytes.toString('base64') !== value || bytes.length <= KEY_ID_BYTES) return null;
  return { name, keyId: bytes.toString('hex', 0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES) };
}

function isControlCharacter(character: string): boolean {
  return character < ' ' && character !== '\n';
}

/** A name and a public key to check signatures with: https://c2sp.org/signed-note. */
export interface VerifierKey {
  readonly name: string;
  /** Hex, 8 digits. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** `unknown_key`: no signature is by a known key. `invalid`: a signature names a known key but does not match. */
export type SignatureVerdict = 'valid' | 'unknown_key' | 'invalid';

/** DER encoding of an Ed25519 public key up to the 32 bytes of the key: RFC 8410, section 4. */
const PUBLIC_KEY_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;
const VERIFIER_KEY = /^(?<name>[^\s+]+)\+(?<keyId>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/]+=*)$/u;

/** `<name>+<key id>+<base64 of 0x01 ‖ public key>`; undefined if the text is no such key, or its key id is wrong. */
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

/** The 32 bytes of an Ed25519 public key. */
function rawPublicKey(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_KEY_PREFIX.length);
}

/**
 * Returns the verdict on a note's signatures. An invalid signature by a known key makes the note invalid, even if
 * others are valid.
 */
export function signatureVerdict(note: SignedNote, keys: readonly VerifierKey[]): SignatureVerdict {
  const text = Buffer.from(note.text, 'utf8');
  const verdicts = note.signatures.flatMap(({ name, keyId, signature }) =>
    keys
      .filter((key) => key.name === name && key.keyId === keyId)
      .map(({ publicKey }) => verify(null, text, publicKey, signature)),
  );
  if (verdicts.includes(false)) return 'invalid';
  return verdicts.length > 0 ? 'valid' : 'unknown_key';
}

/** DER encoding of an Ed25519 private key up to the 32 bytes of the seed: RFC 8410, section 7. */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/**
 * Parses the 32-byte seed in standard base64, as `openssl rand -base64 32` prints it; undefined if the text is no seed.
 */
export function parseSeed(text: string): Buffer | undefined {
  const seed = Buffer.from(text, 'base64');
  return seed.length === SEED_BYTES && seed.toString('base64') === text ? seed : undefined;
}

/** Signs notes under one name with one Ed25519 key (RFC 8032). */
export class NoteSigner {
  readonly verifierKey: VerifierKey;
  private readonly privateKey: KeyObject;

  /** @param seed 32 bytes, never to be shown. */
  constructor(
    readonly name: string,
    seed: Buffer,
  ) {
    const der = Buffer.concat([PRIVATE_KEY_PREFIX, seed]);
    this.privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const publicKey = createPublicKey(this.privateKey);
    this.verifierKey = { name, keyId: keyIdOf(name, rawPublicKey(publicKey)), publicKey };
  }

  /** The public key as text, in the form that verifiers store. */
  get publicKey(): string {
    const { name, keyId, publicKey } = this.verifierKey;
    const bytes = Buffer.concat([Buffer.of(ED25519), rawPublicKey(publicKey)]);
    return `${name}+${keyId}+${bytes.toString('base64')}`;
  }

  /** Signs a text. Ed25519 signatures are deterministic. */
  sign(text: string): string {
    const { name, keyId } = this.verifierKey;
    const signature = sign(null, Buffer.from(text, 'utf8'), this.privateKey);
    return formatNote({ text, signatures: [{ name, keyId, signature }] });
  }
}
