import { parseVerifierKey } from '../../../../verifier/checkpoint.mjs';
import type { Result } from '../../../../verifier/decision/check.mjs';
import { requireSize, textIn, UnreadableFile } from '../../../../verifier/decision/read-file.mjs';
import { sleep } from '../../../../clients/typescript/src/sleep.js';
import { Fault } from '../../api/fault.js';
import { showInvisible } from '../../ui/format.js';
import { whyUnchecked } from './note.js';

export type { Result };

/**
 * Checks a decision file and makes its decisions again, with the modules of the offline verifier. Sends no request.
 * @param keys public keys of the log
 * @throws Fault where it cannot be read, or this page cannot check signatures
 */
export async function recomputeFile(file: File, keys: string): Promise<Result> {
  // Lets the page show that the work has begun.
  await sleep(0);
  try {
    requireSize(file.size);
    const text = textIn(new Uint8Array(await file.arrayBuffer()));
    const { checkDecisionFile } = await loadVerifier();
    return await checkDecisionFile(text, keysIn(keys));
  } catch (error) {
    const because = error instanceof UnreadableFile ? null : whyUnchecked(error);
    if (because !== null)
      throw new Fault(`This page cannot check the file: ${because}.`, 'Or use the offline verifier.');
    const why = error instanceof Error ? error.message : String(error);
    throw new Fault(`The file cannot be read: ${showInvisible(why)}.`, 'Choose the file as it was downloaded.');
  }
}

/** The part of the offline verifier that decides again: the page loads it only for this. */
export function loadVerifier(): Promise<typeof import('../../../../verifier/decision/check.mjs')> {
  return import('../../../../verifier/decision/check.mjs');
}

/** @throws Error if the text is not a key. */
export function keysIn(text: string): ReturnType<typeof parseVerifierKey>[] {
  return text.trim().split(/\s+/).map(parseVerifierKey);
}
