import { open } from 'node:fs/promises';
import { OPEN_FLAGS } from '../../regular-file.js';

/** The source of a secret's text. */
export type SecretSource = { readonly env: string } | { readonly file: string };

export const MIN_SECRET_CHARACTERS = 8;
export const MAX_SECRET_BYTES = 16_384;

/** Control characters of ASCII and Latin-1. */
const CONTROL_CHARACTER = /\p{Cc}/u;
const CHARACTERS_OF_A_LINE_END = 2;

/** A secret that cannot be used. The message names its source and what is expected, never the value. */
export class SecretFault extends Error {
  constructor(
    readonly source: SecretSource,
    expectation: string,
  ) {
    super(`${sourceLabel(source)} ${expectation}`);
    this.name = 'SecretFault';
  }
}

/** Identifies a source in maps and messages. */
export function sourceLabel(source: SecretSource): string {
  return 'env' in source ? `The variable ${source.env}` : `The file ${source.file}`;
}

/**
 * Reads a secret; a final line break is cut.
 * @throws SecretFault if the secret is missing or cannot be a credential.
 */
export async function readSecret(source: SecretSource, environment: NodeJS.ProcessEnv): Promise<string> {
  const text = 'env' in source ? environment[source.env] : await readSecretFile(source);
  if (text === undefined) throw new SecretFault(source, 'is not set.');
  return requireUsable(source, text.replace(/\r?\n$/, ''));
}

function requireUsable(source: SecretSource, value: string): string {
  // Bytes that are no UTF-8 become the replacement character.
  if (value.includes('\ufffd')) throw new SecretFault(source, 'must be text in UTF-8.');
  if (CONTROL_CHARACTER.test(value)) {
    throw new SecretFault(source, 'must have no control characters, except for one line break at its end.');
  }
  if (Array.from(value).length < MIN_SECRET_CHARACTERS) {
    throw new SecretFault(source, `must have at least ${MIN_SECRET_CHARACTERS} characters.`);
  }
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES) {
    throw new SecretFault(source, `must have at most ${MAX_SECRET_BYTES} bytes.`);
  }
  return value;
}

/** Reads no more than can be a secret, whatever the file is. */
async function readSecretFile(source: { readonly file: string }): Promise<string> {
  try {
    const file = await open(source.file, OPEN_FLAGS);
    try {
      if (!(await file.stat()).isFile()) throw new SecretFault(source, 'must be a regular file.');
      const buffer = Buffer.alloc(MAX_SECRET_BYTES + CHARACTERS_OF_A_LINE_END + 1);
      const { bytesRead } = await file.read(buffer);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SecretFault) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new SecretFault(source, `cannot be read (${code}).`);
  }
}
