import { createHash, type Hash } from 'node:crypto';
import { GENESIS_HASH, hashesMatch } from '../../ledger/chain/hash-chain';
import type { StoredEntry } from '../../ledger/chain/stored-entry';
import { leafHash, TreeFrontier, type TreeHash, type TreeNode } from '../../ledger/merkle/tree';
import type { EntryReader } from '../../ledger/reading/entry-reader';
import { rowsIn } from '../../ledger/reading/row-lists';
import type { TreeReader } from '../../ledger/reading/tree-reader';

export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** Where the chain ends according to the head record. */
export interface ClaimedEnd extends ChainEnd {
  /** Entries after it, at sequences that cannot be passed to a check. */
  readonly entriesBeyond?: number;
}

/** What says that the contents of a record were erased. */
export type ErasingEntry = Pick<StoredEntry, 'sequence' | 'action' | 'subjectType' | 'subjectId'>;

/**
 * What a check is asked: to take a chunk, or what was erased while the chunks were read, by entries after all of them; or
 * for its verdict.
 */
export type HashingOrder =
  { readonly entries: string } | { readonly erasing: readonly ErasingEntry[] } | { readonly head: ClaimedEnd };

/** The link of the first entry. */
export const CHAIN_START: ChainEnd = { sequence: 0, hash: GENESIS_HASH };

/** Where a check begins, and what it has to compute on its way. */
export interface CheckOrder {
  /** The entry before the first one to check. */
  readonly previous: ChainEnd;
  /** Sizes of the Merkle tree whose roots are wanted; null if the check does not begin at the first entry. */
  readonly sizes: ReadonlySet<number> | null;
  /** The columns of the entries in each chunk. */
  readonly columns: readonly string[];
  /** Sequences of entries that hold contents which a later entry says to be erased. */
  readonly restored: ReadonlySet<number>;
}

/** What a verification found. */
export interface ChainVerdict {
  readonly valid: boolean;
  readonly entriesVerified: number;
  readonly brokenLinks: number;
  readonly invalidHashes: number;
  /** Entries whose contents were erased. */
  readonly erased: number;
  readonly head: ChainEnd;
  /** The first faulty sequence; for a chain whose end differs from its head, the one after its end. */
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
  private readonly erasures = new NamedErasures();
  private readonly tree: TreeCheck | null;

  constructor(private readonly order: CheckOrder) {
    const { previous, sizes } = order;
    this.previous = previous;
    this.tree = sizes === null ? null : new TreeCheck(sizes);
  }

  /** Null if it is not asked for its verdict. */
  answer(order: HashingOrder): ChainVerdict | null {
    if ('head' in order) return this.finish(order.head);
    if ('erasing' in order) {
      for (const entry of order.erasing) this.noteUnnamed(this.erasures.endAt(entry));
      return null;
    }
    for (const entry of rowsIn<StoredEntry>(order.entries, this.order.columns)) this.add(entry);
    return null;
  }

  private add(entry: StoredEntry): void {
    const isLinked = entry.sequence === this.previous.sequence + 1 && entry.previousHash === this.previous.hash;
    const isIntact = hashesMatch(entry) && !this.order.restored.has(entry.sequence);
    if (!isLinked) this.brokenLinks += 1;
    if (!isIntact) this.invalidHashes += 1;
    if (!isLinked || !isIntact) this.noteInvalid(entry.sequence);
    this.noteUnnamed(this.erasures.endAt(entry));
    if (entry.erased !== null) {
      this.erased += 1;
      if (isIntact) this.noteUnnamed(this.erasures.add(entry));
    }
    this.tree?.add(entry.hash);
    this.entriesVerified += 1;
    this.previous = { sequence: entry.sequence, hash: entry.hash };
  }

  private finish({ entriesBeyond = 0, ...head }: ClaimedEnd): ChainVerdict {
    this.noteUnnamed(this.erasures.end());
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
      tree: this.tree?.finish() ?? null,
    };
  }

  private noteUnnamed({ entries, first }: Unnamed): void {
    this.invalidHashes += entries;
    if (entries > 0) this.noteInvalid(first);
  }

  private noteInvalid(sequence: number): void {
    this.firstInvalid = Math.min(this.firstInvalid ?? sequence, sequence);
  }
}

/** Entries whose contents are missing without a later entry that says they were erased: how many, and the first. */
interface Unnamed {
  readonly entries: number;
  readonly first: number;
}

const NONE: Unnamed = { entries: 0, first: 0 };

interface ErasedRecord extends Unnamed {
  readonly subjectType: string;
  readonly subjectId: string | null;
}

/**
 * What erased entries name: a later `….erased` of the same record, or of the entity that a claim belonged to. Holds one
 * item for each erased record until the check has come to the entry that it names.
 */
class NamedErasures {
  private readonly expected = new Map<unknown, ErasedRecord>();

  /** @returns the entry itself if what it names cannot be the erasure of its record. */
  add({ sequence, erased, subjectType, subjectId, entityId }: StoredEntry): Unnamed {
    const named = subjectType === 'claim' ? { subjectType: 'entity', subjectId: entityId } : { subjectType, subjectId };
    const known = this.expected.get(erased) ?? { ...named, entries: 0, first: sequence };
    const isSame = known.subjectType === named.subjectType && known.subjectId === named.subjectId;
    if (!isSame || Number(erased) <= sequence) return { entries: 1, first: sequence };
    this.expected.set(erased, { ...known, entries: known.entries + 1 });
    return NONE;
  }

  /** @returns those that name this entry wrongly. */
  endAt({ sequence, action, subjectType, subjectId }: ErasingEntry): Unnamed {
    const named = this.expected.get(sequence);
    if (named === undefined) return NONE;
    this.expected.delete(sequence);
    const isErasure = action === `${named.subjectType}.erased`;
    return isErasure && subjectType === named.subjectType && subjectId === named.subjectId ? NONE : named;
  }

  /** @returns those that name an entry which does not exist. */
  end(): Unnamed {
    const left = [...this.expected.values()];
    if (left.length === 0) return NONE;
    return {
      entries: left.reduce((sum, { entries }) => sum + entries, 0),
      first: left.reduce((least, { first }) => Math.min(least, first), Infinity),
    };
  }
}

/** The Merkle tree computed from the entries. */
export interface RecomputedTree {
  readonly size: number;
  readonly rootHash: TreeHash;
  /** As the head record should have it. */
  readonly frontier: string;
  /** One hash per level over its kept subtrees. */
  readonly kept: Readonly<Record<number, string>>;
  /** The root at each requested size that the tree has reached. */
  readonly roots: Readonly<Record<number, TreeHash>>;
}

/** Hashes kept subtrees level by level, so that two sets of any size can be compared without holding either. */
class KeptSubtrees {
  private readonly levels = new Map<number, Hash>();

  /** Subtrees of one level are given from left to right. */
  add({ level, position, hash }: TreeNode): void {
    const known = this.levels.get(level) ?? createHash('sha256');
    this.levels.set(level, known.update(`${position}:${hash}\n`));
  }

  finish(): Record<number, string> {
    return Object.fromEntries([...this.levels].map(([level, hash]) => [level, hash.digest('hex')]));
  }
}

/** Recomputes the tree from the stored hashes of the entries, given in order. */
class TreeCheck {
  private readonly frontier = TreeFrontier.empty();
  private readonly kept = new KeptSubtrees();
  private readonly roots: Record<number, TreeHash> = {};

  /** @param sizes of which the root is wanted. */
  constructor(private readonly sizes: ReadonlySet<number>) {
    this.note();
  }

  /** @param entryHash as it is stored: an altered one may hold anything. */
  add(entryHash: unknown): void {
    const completed: TreeNode[] = [];
    this.frontier.append(leafHash(entryHash), completed);
    for (const node of completed) this.kept.add(node);
    this.note();
  }

  finish(): RecomputedTree {
    const { size, root: rootHash, text: frontier } = this.frontier;
    return { size, rootHash, frontier, kept: this.kept.finish(), roots: this.roots };
  }

  private note(): void {
    const { size } = this.frontier;
    if (this.sizes.has(size)) this.roots[size] = this.frontier.root;
  }
}

/** The tree computed from the entries, and whether the stored tree matches it. */
export interface TreeVerdict {
  readonly size: number;
  readonly rootHash: string;
  readonly matches: boolean;
}

/** Compares the stored tree with the one computed from the entries. Subtrees stored since then are ignored. */
export async function treeVerdict(
  tree: Pick<TreeReader, 'kept'>,
  entries: Pick<EntryReader, 'extent'>,
  recomputed: RecomputedTree,
  frontier: string | null,
): Promise<TreeVerdict> {
  const { size, rootHash } = recomputed;
  const { stored, furthest } = await keptTree(tree, size);
  const levels = new Set([...Object.keys(stored), ...Object.keys(recomputed.kept)].map(Number));
  const areSame = [...levels].every((level) => stored[level] === recomputed.kept[level]);
  // The log has grown meanwhile; but a subtree over entries that do not exist yet was added by somebody else.
  const isWithinLog = furthest <= size || furthest <= Number((await entries.extent()).sequence);
  return { size, rootHash, matches: areSame && isWithinLog && (frontier ?? '') === recomputed.frontier };
}

interface KeptTree {
  /** One hash per level, over the subtrees that end within the size. */
  readonly stored: Record<number, string>;
  /** The last entry that any of them covers, beyond the size or not. */
  readonly furthest: number;
}

async function keptTree(tree: Pick<TreeReader, 'kept'>, size: number): Promise<KeptTree> {
  const kept = new KeptSubtrees();
  let furthest = 0;
  for await (const chunk of tree.kept()) {
    for (const node of chunk) {
      // Anything else is not part of a log, and nothing can be looked up after a rounded number.
      if (!isSubtree(node)) return { stored: {}, furthest: Infinity };
      const end = (node.position + 1) * 2 ** node.level;
      if (end <= size) kept.add(node);
      furthest = Math.max(furthest, end);
    }
  }
  return { stored: kept.finish(), furthest };
}

/** The driver rounds integers of more than 53 bits, and a column of SQLite accepts values of any type. */
function isSubtree(node: Record<keyof TreeNode, unknown>): node is TreeNode {
  return Number.isSafeInteger(node.level) && Number.isSafeInteger(node.position) && typeof node.hash === 'string';
}
