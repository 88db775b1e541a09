import { GENESIS_HASH, hashesMatch, type StoredEntry } from '../../ledger/chain/hash-chain';
import { type RecomputedTree, TreeCheck } from './tree-check';

export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** The link of the first entry. */
export const CHAIN_START: ChainEnd = { sequence: 0, hash: GENESIS_HASH };

/** Where a check begins, and what it has to compute on its way. */
export interface CheckOrder {
  /** The entry before the first one to check. */
  readonly previous: ChainEnd;
  /** Sizes of the Merkle tree whose roots are wanted; null if the check does not begin at the first entry. */
  readonly sizes: ReadonlySet<number> | null;
}

/** What a verification found. */
export interface ChainVerdict {
  readonly valid: boolean;
  readonly entriesVerified: number;
  readonly brokenLinks: number;
  readonly invalidHashes: number;
  readonly head: ChainEnd;
  /** The first faulty sequence; for a chain whose end differs from its head, the one after its end. */
  readonly firstInvalid: number | null;
  /** Null if the check did not begin at the first entry. */
  readonly tree: RecomputedTree | null;
}

/** @param entriesBeyond number of entries after the chain's end, at sequences that cannot be passed to a check. */
export function withEntriesBeyond(verdict: ChainVerdict, entriesBeyond: number): ChainVerdict {
  if (entriesBeyond === 0) return verdict;
  return {
    ...verdict,
    valid: false,
    brokenLinks: verdict.brokenLinks + entriesBeyond,
    firstInvalid: verdict.firstInvalid ?? verdict.head.sequence + 1,
  };
}

/** Checks entries, given in order of sequence, against the previous one and against themselves. */
export class ChainCheck {
  private entriesVerified = 0;
  private brokenLinks = 0;
  private invalidHashes = 0;
  private firstInvalid: number | null = null;
  private previous: ChainEnd;
  private readonly tree: TreeCheck | null;

  constructor({ previous, sizes }: CheckOrder) {
    this.previous = previous;
    this.tree = sizes === null ? null : new TreeCheck(sizes);
  }

  add(entry: StoredEntry): void {
    const isLinked = entry.sequence === this.previous.sequence + 1 && entry.previousHash === this.previous.hash;
    const isIntact = hashesMatch(entry);
    if (!isLinked) this.brokenLinks += 1;
    if (!isIntact) this.invalidHashes += 1;
    if (!isLinked || !isIntact) this.firstInvalid ??= entry.sequence;
    this.tree?.add(entry.hash);
    this.entriesVerified += 1;
    this.previous = { sequence: entry.sequence, hash: entry.hash };
  }

  /** @param head where the chain ends according to the head record. */
  finish(head: ChainEnd): ChainVerdict {
    const endsAtHead = this.previous.sequence === head.sequence && this.previous.hash === head.hash;
    const brokenLinks = this.brokenLinks + (endsAtHead ? 0 : 1);
    return {
      valid: brokenLinks === 0 && this.invalidHashes === 0,
      entriesVerified: this.entriesVerified,
      brokenLinks,
      invalidHashes: this.invalidHashes,
      head,
      firstInvalid: this.firstInvalid ?? (endsAtHead ? null : this.previous.sequence + 1),
      tree: this.tree?.finish() ?? null,
    };
  }
}
