import type { Checkpoint, SignedCheckpoint } from '../checkpoints/checkpoint';
import { signatureVerdict, type SignatureVerdict, type VerifierKey } from '../signed-notes/verifier-key';

/** Whether the log still extends an earlier checkpoint. */
export interface CheckpointVerdict extends Checkpoint {
  readonly signature: SignatureVerdict;
  /** The first `size` entries have the root hash of the checkpoint. */
  readonly extended: boolean;
}

/** @param roots computed from the entries, by size. */
export function checkpointVerdict(
  checkpoint: SignedCheckpoint,
  roots: Readonly<Record<number, string>>,
  keys: readonly VerifierKey[],
): CheckpointVerdict {
  const { origin, size, rootHash, note } = checkpoint;
  return { origin, size, rootHash, signature: signatureVerdict(note, keys), extended: roots[size] === rootHash };
}
