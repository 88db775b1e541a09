import { randomBytes } from 'node:crypto';

/** A shorter key can be guessed: refused in production, warned about elsewhere. */
export const SHORTEST_SAFE_KEY = 16;

export const API_KEY_EXPECTED = `a key of 1 to 1024 visible ASCII characters without spaces, of at least ${SHORTEST_SAFE_KEY} with NODE_ENV=production`;

/** Undefined if an HTTP header could not carry the key unchanged. */
export function parseApiKey(text: string): string | undefined {
  return /^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined;
}

export function isGuessable(key: string): boolean {
  return key !== '' && key.length < SHORTEST_SAFE_KEY;
}

export function maskApiKey(): string {
  return 'a value that is not shown';
}

export function generateApiKey(): string {
  return randomBytes(24).toString('hex');
}
