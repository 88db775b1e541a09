import { SecretPointers, USUAL_SECRET_POINTERS } from '../../service-rules/secret-pointers.js';

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** The names and indexes of a JSON Pointer; undefined for any other text. */
export function parsePointer(text: string): string[] | undefined {
  if (!POINTER.test(text)) return undefined;
  return text
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * True if the value at a pointer is secret, or lies within a secret value.
 * @param patterns in addition to the default list
 */
export function isSecretPointer(pointer: readonly string[], patterns: readonly string[]): boolean {
  return new SecretPointers(USUAL_SECRET_POINTERS).with(patterns).covers(pointer);
}
