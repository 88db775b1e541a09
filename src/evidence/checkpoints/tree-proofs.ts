import { Injectable } from '@nestjs/common';
import { invalidField, notFound } from '../../core/errors/domain-error';
import { isConsistent, isIncluded, type TreeHead } from '../../ledger/merkle/proof-check';
import { EMPTY_ROOT, TreeDamagedError } from '../../ledger/merkle/tree';
import { type ConsistencyProof, type InclusionProof, TreeReader } from '../../ledger/reading/tree-reader';

/** Issues proofs for the current log, and only proofs that lead to the root of the head record. */
@Injectable()
export class TreeProofs {
  constructor(private readonly tree: TreeReader) {}

  /** @throws VALIDATION_ERROR for a size that the tree never had with the entry in it; NOT_FOUND beyond the tree */
  async inclusion(sequence: number, requestedSize?: number): Promise<InclusionProof> {
    const today = await this.tree.head();
    const size = requestedSize ?? today.size;
    if (size > today.size) throw invalidField('query.size', `must be at most today's size, ${today.size}`);
    if (sequence > today.size) throw notFound('provenance entry');
    if (sequence > size) throw invalidField('query.size', `must be at least the sequence, ${sequence}`);
    const proof = await this.tree.inclusion(sequence, size);
    const isProven = isIncluded(sequence - 1, proof.leafHash, proof.tree, proof.hashes);
    if (!isProven || !agree(proof.tree, today)) throw damaged();
    return proof;
  }

  /** @throws VALIDATION_ERROR for sizes that the tree never had, or in the wrong order */
  async consistency(from: number, requestedSize?: number): Promise<ConsistencyProof> {
    const today = await this.tree.head();
    const to = requestedSize ?? today.size;
    if (to > today.size) throw invalidField('query.to', `must be at most today's size, ${today.size}`);
    if (from > to)
      throw invalidField('query.from', `must be at most ${requestedSize === undefined ? "today's size" : 'to'}, ${to}`);
    const proof = await this.tree.consistency(from, to);
    const isProven = from === 0 || isConsistent(proof.earlier, proof.later, proof.hashes);
    if (!isProven || !agree(proof.later, today)) throw damaged();
    return proof;
  }
}

/** False if two trees of the same size have different roots. */
function agree(one: TreeHead, other: TreeHead): boolean {
  return one.size !== other.size || one.rootHash === other.rootHash;
}

function damaged(): Error {
  return new TreeDamagedError('The stored tree does not lead to the root of the head record.');
}

/** Returns why the current tree does not extend an earlier one, as the end of a sentence; null if it does. */
export async function contradiction(reader: TreeReader, today: TreeHead, earlier: TreeHead): Promise<string | null> {
  const missing = endsBefore(earlier, today.size);
  if (missing !== null) return missing;
  if (earlier.size === 0)
    return earlier.rootHash === EMPTY_ROOT ? null : 'the checkpoint does not have the root of an empty log';
  return (await isProven(reader, today, earlier))
    ? null
    : `its first ${earlier.size} entries are different or were altered`;
}

/** Returns why a log of this size cannot extend an earlier one; null if it can. */
export function endsBefore(earlier: TreeHead, size: number): string | null {
  return earlier.size > size ? `it ends at entry ${size}, before the checkpoint's ${earlier.size}` : null;
}

/** True if the extension is proven; false if hashes for the proof are missing. */
async function isProven(reader: TreeReader, today: TreeHead, earlier: TreeHead): Promise<boolean> {
  try {
    const { hashes } = await reader.consistency(earlier.size, today.size);
    return isConsistent(earlier, today, hashes);
  } catch (error) {
    if (error instanceof TreeDamagedError) return false;
    throw error;
  }
}
