import { isTreeHash, joinedHash, KEPT_LEVELS, nodeHash, TreeDamagedError, type TreeHash } from './tree';

/** Leaves from `begin` up to, but not including, `end`, whose root a proof needs. */
export interface LeafRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * Returns the ranges that form the audit path of a leaf, from the leaf to the root: PATH(index, D[size]) of RFC 6962,
 * section 2.1.1.
 * @param index index from 0, less than the size
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  return descent(index, size, ({ begin, end }) => end - begin === 1).passed;
}

/**
 * Returns the ranges that form the proof that one tree extends another: PROOF(from, D[to]) of RFC 6962, section 2.1.2.
 * Empty for equal sizes, and for the empty tree, which every tree extends.
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  if (from === 0) return [];
  const { leaf, passed } = descent(from - 1, to, ({ end }) => end === from);
  // The root of the earlier tree is left out, because a verifier of the proof knows it.
  return leaf.begin > 0 ? [leaf, ...passed] : passed;
}

/**
 * Follows the way from the root towards a leaf until it reaches a subtree. Returns the subtrees beside the way, the
 * last one first.
 */
export function descent(
  index: number,
  size: number,
  isReached: (subtree: LeafRange) => boolean,
): { readonly leaf: LeafRange; readonly passed: LeafRange[] } {
  const passed: LeafRange[] = [];
  let leaf: LeafRange = { begin: 0, end: size };
  while (!isReached(leaf)) {
    const { begin, end } = leaf;
    const middle = begin + largestPowerBelow(end - begin);
    const left = { begin, end: middle };
    const right = { begin: middle, end };
    passed.unshift(index < middle ? right : left);
    leaf = index < middle ? left : right;
  }
  return { leaf, passed };
}

/** The largest power of two that is less than the number, which is at least 2. */
function largestPowerBelow(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

/**
 * Returns the stored hashes that the roots of ranges need: positions of leaves (level 0) and of stored subtrees, by
 * level.
 */
export function storedPositions(ranges: readonly LeafRange[]): ReadonlyMap<number, readonly number[]> {
  const positions = new Map<number, number[]>();
  for (const { level, position } of ranges.flatMap(subtreesOf)) {
    const stored = level - (level % KEPT_LEVELS);
    const width = 2 ** (level - stored);
    const below = Array.from({ length: width }, (_unused, index) => position * width + index);
    positions.set(stored, [...(positions.get(stored) ?? []), ...below]);
  }
  return positions;
}

/** Holds the hashes that were read, and computes the roots of ranges from them. */
export class StoredHashes {
  /** Hashes by level and position. */
  private readonly hashes = new Map<string, TreeHash>();

  /** @throws TreeDamagedError for a value that is not a hash: an altered row may hold anything */
  add(level: number, position: number, hash: unknown): void {
    if (!isTreeHash(hash)) throw new TreeDamagedError(`The tree has no hash at level ${level}, position ${position}.`);
    this.hashes.set(`${level} ${position}`, hash);
  }

  /** @throws TreeDamagedError when a hash is missing. */
  root(range: LeafRange): TreeHash {
    return joinedHash(subtreesOf(range).map(({ level, position }) => this.subtree(level, position)));
  }

  private subtree(level: number, position: number): TreeHash {
    if (level % KEPT_LEVELS !== 0) {
      return nodeHash(this.subtree(level - 1, 2 * position), this.subtree(level - 1, 2 * position + 1));
    }
    const hash = this.hashes.get(`${level} ${position}`);
    if (hash === undefined) throw new TreeDamagedError(`The tree has no hash at level ${level}, position ${position}.`);
    return hash;
  }
}

interface Subtree {
  readonly level: number;
  readonly position: number;
}

/**
 * The complete subtrees that make up a range, the largest first. The range begins where its largest subtree may begin.
 */
function subtreesOf({ begin, end }: LeafRange): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let start = begin; start < end;) {
    let [level, width] = [0, 1];
    while (width * 2 <= end - start) [level, width] = [level + 1, width * 2];
    subtrees.push({ level, position: start / width });
    start += width;
  }
  return subtrees;
}
