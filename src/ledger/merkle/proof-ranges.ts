/** Leaves from `begin` up to, but not including, `end`, whose root a proof needs. */
export interface LeafRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * The ranges that form the audit path of a leaf, from the leaf to the root: PATH(index, D[size]) of RFC 6962, section
 * 2.1.1.
 * @param index counted from 0, less than the size.
 */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [begin, end] = [0, size];
  while (end - begin > 1) {
    const middle = begin + largestPowerBelow(end - begin);
    if (index < middle) {
      ranges.push({ begin: middle, end });
      end = middle;
    } else {
      ranges.push({ begin, end: middle });
      begin = middle;
    }
  }
  return ranges.reverse();
}

/**
 * The ranges that form the proof that one tree extends another: PROOF(from, D[to]) of RFC 6962, section 2.1.2. Empty
 * for equal sizes, and for the empty tree, which every tree extends.
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  if (from === 0) return [];
  const ranges: LeafRange[] = [];
  let [begin, end] = [0, to];
  while (end !== from) {
    const middle = begin + largestPowerBelow(end - begin);
    if (from <= middle) {
      ranges.push({ begin: middle, end });
      end = middle;
    } else {
      ranges.push({ begin, end: middle });
      begin = middle;
    }
  }
  // Whoever checks the proof knows the root of the earlier tree.
  if (begin > 0) ranges.push({ begin, end });
  return ranges.reverse();
}

/** The largest power of two that is less than the number, which is at least 2. */
function largestPowerBelow(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}
