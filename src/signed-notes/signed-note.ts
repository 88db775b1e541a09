import { hash as digest } from 'node:crypto';

/** One line of a signed note: who signed, with which key, and the signature. */
export interface NoteSignature {
  readonly name: string;
  /** Hex, 8 digits: distinguishes keys with the same name. */
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
export const ED25519 = 0x01;

const SIGNATURE_LINE = /^\u2014 (?<name>[^\s+]+) (?<value>[A-Za-z0-9+/]+={0,2})$/u;
const KEY_ID_BYTES = 4;

/** First four bytes of SHA-256(name ‖ 0x0A ‖ algorithm ‖ public key), in hex. */
export function keyIdOf(name: string, publicKey: Buffer): string {
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

/** Returns what is wrong with a note that cannot be parsed, as the end of a sentence. */
export function parseNote(note: string): SignedNote | string {
  if (hasControlCharacters(note)) return 'must not hold control characters other than newlines';
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

function hasControlCharacters(text: string): boolean {
  // A loop, because an eslint rule forbids control characters in a pattern.
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 && code !== 0x0a) return true;
  }
  return false;
}
