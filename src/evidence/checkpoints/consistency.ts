import { isConsistent, type TreeHead } from '../../ledger/merkle/proof-check';
import { EMPTY_ROOT, TreeDamagedError } from '../../ledger/merkle/tree';
import type { TreeReader } from '../../ledger/reading/tree-reader';

/** Why the current tree does not extend an earlier one, as the end of a sentence; null if it does. */
export async function contradiction(reader: TreeReader, today: TreeHead, earlier: TreeHead): Promise<string | null> {
  const missing = endsBefore(earlier, today.size);
  if (missing !== null) return missing;
  if (earlier.size === 0)
    return earlier.rootHash === EMPTY_ROOT ? null : 'the checkpoint does not have the root of an empty log';
  return (await isProven(reader, today, earlier))
    ? null
    : `its first ${earlier.size} entries are different or were altered`;
}

/** The same for a log of which only the size is known. */
export function endsBefore(earlier: TreeHead, size: number): string | null {
  return earlier.size > size ? `it ends at entry ${size}, before the checkpoint's ${earlier.size}` : null;
}

/** If hashes are missing nothing can be proven. */
async function isProven(reader: TreeReader, today: TreeHead, earlier: TreeHead): Promise<boolean> {
  try {
    const { hashes } = await reader.consistency(earlier.size, today.size);
    return isConsistent(earlier, today, hashes);
  } catch (error) {
    if (error instanceof TreeDamagedError) return false;
    throw error;
  }
}
