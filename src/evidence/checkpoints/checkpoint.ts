import type { TreeHead } from '../../ledger/merkle/proof-check';
import {
  parseNote,
  type SignedNote,
  signatureVerdict,
  type SignatureVerdict,
  type VerifierKey,
} from '../../core/signed-notes/signed-note';

/** A log's signed description of its state: https://c2sp.org/tlog-checkpoint. */
export interface Checkpoint extends TreeHead {
  /** Name of the log. */
  readonly origin: string;
}

export interface IssuedCheckpoint extends Checkpoint {
  /** The signed note. */
  readonly text: string;
}

export interface SignedCheckpoint extends IssuedCheckpoint {
  readonly note: SignedNote;
}

const SIZE = /^(0|[1-9]\d{0,15})$/;
const HASH_BYTES = 32;
const NAME_DIGITS = 16;

/** Returns the text that is signed. */
export function checkpointText({ origin, size, rootHash }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(rootHash, 'hex').toString('base64')}\n`;
}

/** Returns a short, unambiguous label for people: `<size>:<first 16 hex digits of the root hash>`. */
export function checkpointLabel({ size, rootHash }: TreeHead): string {
  return `${size}:${rootHash.slice(0, NAME_DIGITS)}`;
}

/**
 * Parses a checkpoint. If the text is not a checkpoint, returns the fault as the end of a sentence. Ignores lines after
 * the third.
 */
export function parseCheckpoint(text: string): SignedCheckpoint | string {
  const note = parseNote(text);
  if (typeof note === 'string') return note;
  const [origin = '', size = '', root = ''] = note.text.slice(0, -1).split('\n');
  if (origin === '') return 'must name its origin in the first line';
  if (!SIZE.test(size) || Number(size) > Number.MAX_SAFE_INTEGER) return 'must have a tree size, in digits, in line 2';
  const rootHash = Buffer.from(root, 'base64');
  if (rootHash.length !== HASH_BYTES || rootHash.toString('base64') !== root) {
    return 'must have a root hash of 32 bytes, in standard base64, in line 3';
  }
  return { origin, size: Number(size), rootHash: rootHash.toString('hex'), text, note };
}

/** Parses a text that was validated before. */
export function readCheckpoint(text: string): SignedCheckpoint {
  const checkpoint = parseCheckpoint(text);
  if (typeof checkpoint === 'string') throw new Error(`A checkpoint ${checkpoint}.`);
  return checkpoint;
}

/** Result of comparing the log with an earlier checkpoint. */
export interface CheckpointVerdict extends Checkpoint {
  readonly signature: SignatureVerdict;
  /** True if the first `size` entries have the root hash of the checkpoint. */
  readonly extended: boolean;
}

/** @param roots roots computed from the entries, by size */
export function checkpointVerdict(
  checkpoint: SignedCheckpoint,
  roots: Readonly<Record<number, string>>,
  keys: readonly VerifierKey[],
): CheckpointVerdict {
  const { origin, size, rootHash, note } = checkpoint;
  return { origin, size, rootHash, signature: signatureVerdict(note, keys), extended: roots[size] === rootHash };
}
