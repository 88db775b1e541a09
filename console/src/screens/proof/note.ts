import { hexOf } from '../../../../verifier/bytes.mjs';
import { isSigned, parseCheckpoint, parseVerifierKey } from '../../../../verifier/checkpoint.mjs';
import type { Checkpoint } from '../../api/types.js';

/** `unchecked`: this browser cannot check it, for the given reason. */
export type NoteVerdict = { readonly is: 'valid' | 'invalid' } | { readonly is: 'unchecked'; readonly because: string };

const NOT_HERE =
  'browsers check signatures only on pages that come by https or from this machine. Open the console by https';
const NOT_YET = 'this browser does not know Ed25519 signatures. Use a newer one';

/** Checks if a checkpoint is signed by its key, and contains the values that are shown. */
export async function checkNote({ checkpoint, origin, size, rootHash, publicKey }: Checkpoint): Promise<NoteVerdict> {
  try {
    const note = parseCheckpoint(checkpoint);
    const isShown = note.origin === origin && note.size === size && hexOf(note.root) === rootHash;
    const holds = isShown && (await isSigned(note, [parseVerifierKey(publicKey)]));
    return { is: holds ? 'valid' : 'invalid' };
  } catch (error) {
    const because = whyUnchecked(error);
    return because === null ? { is: 'invalid' } : { is: 'unchecked', because };
  }
}

/** Returns the reason for which this page cannot check a signature; null if the error has another reason. */
export function whyUnchecked(error: unknown): string | null {
  if (!isSecureContext) return NOT_HERE;
  return error instanceof DOMException && error.name === 'NotSupportedError' ? NOT_YET : null;
}
