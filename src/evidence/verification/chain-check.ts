import { GENESIS_HASH, hashesMatch } from '../../ledger/chain/hash-chain';
import { leafHash, TreeFrontier, type TreeHash, type TreeNode } from '../../ledger/merkle/tree';
import type { ChunkEntry } from '../../ledger/reading/entry-reader';
import { rowsIn } from '../../ledger/reading/row-lists';

interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** The end of an empty chain, to which the first entry links. */
export const CHAIN_START: ChainEnd = { sequence: 0, hash: GENESIS_HASH };

/** Range of a check, and the values to compute. */
export interface CheckOrder {
  /** The entry before the first one to check. */
  readonly previous: ChainEnd;
  /** End of the chain according to the head record. */
  readonly head: ChainEnd;
  /** Number of entries after the head, at sequences that cannot be passed to a check. */
  readonly entriesBeyond: number;
  /** Sizes of the Merkle tree whose roots are requested; null if the check does not begin at the first entry. */
  readonly sizes: ReadonlySet<number> | null;
  /** Columns of the entries in each chunk. */
  readonly columns: readonly string[];
  /** Sequences of entries that hold contents although a later entry records their erasure. */
  readonly restored: ReadonlySet<number>;
}

/** Result of a verification. */
export interface ChainVerdict {
  readonly valid: boolean;
  readonly entriesVerified: number;
  readonly brokenLinks: number;
  readonly invalidHashes: number;
  /** Number of entries whose contents were erased. */
  readonly erased: number;
  readonly head: ChainEnd;
  /** The first faulty sequence; for a chain whose end differs from its head, the sequence after its end. */
  readonly firstInvalid: number | null;
  /** Null if the check did not begin at the first entry. */
  readonly tree: RecomputedTree | null;
}

/** Checks entries, given in order of sequence, against the previous one and against themselves. */
export class ChainCheck {
  private entriesVerified = 0;
  private brokenLinks = 0;
  private invalidHashes = 0;
  private erased = 0;
  private firstInvalid: number | null = null;
  private previous: ChainEnd;
  private readonly tree = TreeFrontier.empty();
  private completed: TreeNode[] = [];
  private readonly roots: Record<number, TreeHash> = {};

  constructor(private readonly order: CheckOrder) {
    this.previous = order.previous;
    this.noteRoot();
  }

  /** Checks the next entries, and returns the result so far. */
  check(entries: string): ChainVerdict {
    this.completed = [];
    for (const entry of rowsIn<ChunkEntry>(entries, this.order.columns)) this.add(entry);
    return this.verdict();
  }

  private add(entry: ChunkEntry): void {
    const { sequence, hash } = entry;
    const isLinked = sequence === this.previous.sequence + 1 && entry.previousHash === this.previous.hash;
    const isIntact = hashesMatch(entry) && entry.isErasureValid === 1 && !this.order.restored.has(sequence);
    if (!isLinked) this.brokenLinks += 1;
    if (!isIntact) this.invalidHashes += 1;
    if (!isLinked || !isIntact) this.firstInvalid ??= sequence;
    if (entry.erased !== null) this.erased += 1;
    if (this.order.sizes !== null) this.tree.append(leafHash(hash), this.completed);
    this.noteRoot();
    this.entriesVerified += 1;
    this.previous = { sequence, hash };
  }

  private noteRoot(): void {
    const { size } = this.tree;
    if (this.order.sizes?.has(size) === true) this.roots[size] = this.tree.root;
  }

  private verdict(): ChainVerdict {
    const { head, entriesBeyond, sizes } = this.order;
    const { tree, completed, roots } = this;
    const endsAtHead = this.previous.sequence === head.sequence && this.previous.hash === head.hash;
    const brokenAtEnd = entriesBeyond + (endsAtHead ? 0 : 1);
    const brokenLinks = this.brokenLinks + brokenAtEnd;
    return {
      valid: brokenLinks === 0 && this.invalidHashes === 0,
      entriesVerified: this.entriesVerified,
      brokenLinks,
      invalidHashes: this.invalidHashes,
      erased: this.erased,
      head,
      firstInvalid: this.firstInvalid ?? (brokenAtEnd === 0 ? null : this.previous.sequence + 1),
      tree: sizes && { size: tree.size, rootHash: tree.root, frontier: tree.text, completed, roots },
    };
  }
}

/** The Merkle tree computed from the entries so far. */
interface RecomputedTree {
  readonly size: number;
  readonly rootHash: TreeHash;
  /** The value that the head record should have. */
  readonly frontier: string;
  /** Stored subtrees that the last entries have completed. */
  readonly completed: readonly TreeNode[];
  /** Root at each requested size that the tree has reached. */
  readonly roots: Readonly<Record<number, TreeHash>>;
}
