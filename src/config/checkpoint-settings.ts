import { parseSeed } from '../signed-notes/note-signer';
import { parseVerifierKey, type VerifierKey } from '../signed-notes/verifier-key';
import { parseList } from './variable';

const ORIGIN = /^[^\s+\p{Cc}\p{Cf}]{1,200}$/u;
const CHECKPOINT_NAME = /^(0|[1-9]\d{0,15}):[0-9a-f]{16}$/;

/** Null: none is given, and the service makes one. */
export function parseSigningKey(text: string): Buffer | null | undefined {
  return text === '' ? null : parseSeed(text);
}

export function parseVerifierKeys(text: string): VerifierKey[] | undefined {
  return text === '' ? [] : parseList(text, parseVerifierKey);
}

/** A signed note's name: no white space, no plus sign. */
export function parseOrigin(text: string): string | undefined {
  return ORIGIN.test(text) ? text : undefined;
}

/** A folder, absolute or relative to the working folder, without white space at its ends; null where the usual one serves. */
export function parseFolder(text: string): string | null | undefined {
  if (text === '') return null;
  return text.trim() === text && !text.includes('\0') ? text : undefined;
}

/** Checkpoints by their names: `<size>:<first 16 hex digits of the root hash>`. */
export function parseCheckpointNames(text: string): string[] | undefined {
  return text === '' ? [] : parseList(text, (item) => (CHECKPOINT_NAME.test(item) ? item : undefined));
}
