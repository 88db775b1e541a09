import { isConsistent, type TreeHead } from '../ledger/merkle/proof-check';
import { TreeDamagedError } from '../ledger/merkle/tree-damaged.error';
import { EMPTY_ROOT } from '../ledger/merkle/tree-hash';
import type { TreeReader } from '../ledger/reading/tree-reader';

/** Why today's tree does not extend a former one, as the end of a sentence; null when it does. */
export async function contradiction(reader: TreeReader, today: TreeHead, former: TreeHead): Promise<string | null> {
  const missing = endsBefore(former, today.size);
  if (missing !== null) return missing;
  if (former.size === 0) return former.rootHash === EMPTY_ROOT ? null : 'the checkpoint has the root of no empty log';
  return (await isProven(reader, today, former)) ? null : `its first ${former.size} entries are others, or altered`;
}

/** The same of a log of which only the size is known. */
export function endsBefore(former: TreeHead, size: number): string | null {
  return former.size > size ? `it ends at entry ${size}, before the checkpoint's ${former.size}` : null;
}

/** Where hashes are missing nothing can be proven. */
async function isProven(reader: TreeReader, today: TreeHead, former: TreeHead): Promise<boolean> {
  try {
    const { hashes } = await reader.consistency(former.size, today.size);
    return isConsistent(former, today, hashes);
  } catch (error) {
    if (error instanceof TreeDamagedError) return false;
    throw error;
  }
}
