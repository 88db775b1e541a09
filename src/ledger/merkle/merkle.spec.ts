import * as fc from 'fast-check';
import { createHash } from 'node:crypto';
import { isConsistent, isIncluded } from './proof-check';
import { consistencyRanges, inclusionRanges, type LeafRange, StoredHashes, storedPositions } from './proof-ranges';
import { EMPTY_ROOT, KEPT_LEVELS, leafHash, TreeFrontier, type TreeNode } from './tree';

/** RFC 6962, section 2.1, implemented literally. */
function treeHash(entries: readonly string[]): string {
  if (entries.length === 0) return sha256();
  const [only] = entries;
  if (entries.length === 1) return sha256('00', only);
  let middle = 1;
  while (middle * 2 < entries.length) middle *= 2;
  return sha256('01', treeHash(entries.slice(0, middle)), treeHash(entries.slice(middle)));
}

function sha256(...hex: (string | undefined)[]): string {
  return createHash('sha256')
    .update(Buffer.from(hex.join(''), 'hex'))
    .digest('hex');
}

const LARGEST = 600;
const ENTRIES = Array.from({ length: LARGEST }, (_unused, index) => sha256(index.toString(16).padStart(4, '0')));

/** A tree grown leaf by leaf, and what a database would keep of it. */
function grown(size: number): { frontier: TreeFrontier; nodes: TreeNode[] } {
  const frontier = TreeFrontier.empty();
  const nodes: TreeNode[] = [];
  for (const entry of ENTRIES.slice(0, size)) frontier.append(leafHash(entry), nodes);
  return { frontier, nodes };
}

/** The roots of ranges, computed only from what a database keeps. */
function roots(ranges: readonly LeafRange[], { nodes }: { nodes: TreeNode[] }): string[] {
  const stored = new StoredHashes();
  for (const [level, positions] of storedPositions(ranges)) {
    for (const position of positions) {
      const node = nodes.find((one) => one.level === level && one.position === position);
      const hash = level === 0 ? leafHash(ENTRIES[position] ?? '') : node?.hash;
      if (hash !== undefined) stored.add(level, position, hash);
    }
  }
  return ranges.map((range) => stored.root(range));
}

const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 511, 512, 513, LARGEST];
const anySize = fc.oneof(fc.constantFrom(...SIZES), fc.integer({ min: 0, max: LARGEST }));

describe('The tree', () => {
  it.each(SIZES)('of %d leaves has the root of RFC 6962', (size) => {
    expect(grown(size).frontier.root).toBe(treeHash(ENTRIES.slice(0, size)));
  });

  it('is empty at first', () => {
    expect(TreeFrontier.empty()).toMatchObject({ size: 0, root: EMPTY_ROOT, text: '0:' });
  });

  it('stores every complete subtree of each eighth level, once', () => {
    const { nodes } = grown(LARGEST);
    expect(nodes).toEqual([
      { level: KEPT_LEVELS, position: 0, hash: treeHash(ENTRIES.slice(0, 256)) },
      { level: KEPT_LEVELS, position: 1, hash: treeHash(ENTRIES.slice(256, 512)) },
    ]);
  });

  it('also stores the subtrees of higher levels', () => {
    const frontier = TreeFrontier.empty();
    const nodes: TreeNode[] = [];
    for (let leaf = 0; leaf < 65_536; leaf += 1) frontier.append(leafHash(ENTRIES[leaf % LARGEST] ?? ''), nodes);
    expect(nodes).toHaveLength(257);
    expect(nodes.at(-1)).toEqual({ level: 16, position: 0, hash: frontier.root });
  });

  it('continues to grow from its text as it would have without', () => {
    fc.assert(
      fc.property(anySize, anySize, (one, other) => {
        const [first, second] = [Math.min(one, other), Math.max(one, other)];
        const resumed = TreeFrontier.parse(grown(first).frontier.text);
        for (const entry of ENTRIES.slice(first, second)) resumed?.append(leafHash(entry));
        expect(resumed?.text).toBe(grown(second).frontier.text);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    '',
    '0',
    ':',
    '1:',
    `2:${'a'.repeat(63)}`,
    `1:${'A'.repeat(64)}`,
    `3:${'a'.repeat(64)}`,
    `01:${'a'.repeat(64)}`,
  ])('is not read from %p', (text) => {
    expect(TreeFrontier.parse(text)).toBeNull();
  });

  it('has a distinct leaf for something that is not a hash', () => {
    const [entry = ''] = ENTRIES;
    const leaves = [entry, entry.toUpperCase(), `${entry}00`, entry.slice(2), '', 'x'].map(leafHash);
    expect(new Set(leaves).size).toBe(leaves.length);
  });
});

describe('Proofs', () => {
  const tree = grown(LARGEST);

  it('of inclusion lead from any leaf to the root of any tree that has it', () => {
    fc.assert(
      fc.property(anySize, fc.nat(), (size, place) => {
        if (size === 0) return;
        const index = place % size;
        const [leaf = '', rootHash = '', ...hashes] = roots(
          [{ begin: index, end: index + 1 }, { begin: 0, end: size }, ...inclusionRanges(index, size)],
          tree,
        );
        expect(rootHash).toBe(treeHash(ENTRIES.slice(0, size)));
        expect(hashes.length).toBeLessThanOrEqual(Math.ceil(Math.log2(size)));
        expect(isIncluded(index, leaf, { size, rootHash }, hashes)).toBe(true);
        expect(isIncluded(index + 1, leaf, { size, rootHash }, hashes)).toBe(false);
        expect(isIncluded(index, leafHash('x'), { size, rootHash }, hashes)).toBe(false);
      }),
    );
  });

  it('of consistency lead from the root of any tree to that of any larger one', () => {
    fc.assert(
      fc.property(anySize, anySize, (one, other) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const [earlier = '', later = '', ...hashes] = roots(
          [{ begin: 0, end: from }, { begin: 0, end: to }, ...consistencyRanges(from, to)],
          tree,
        );
        const isProven = isConsistent({ size: from, rootHash: earlier }, { size: to, rootHash: later }, hashes);
        // Every tree extends the empty one: there is nothing to prove.
        expect(isProven).toBe(from > 0);
        const forged = { size: from, rootHash: leafHash('x') };
        expect(isConsistent(forged, { size: to, rootHash: later }, hashes)).toBe(false);
      }),
    );
  });

  it('fail if a stored hash is missing', () => {
    const ranges = inclusionRanges(550, LARGEST);
    expect(() => roots(ranges, { nodes: tree.nodes.slice(1) })).toThrow('level 8, position 0');
  });

  it('of a leaf among a million need a few hundred stored hashes and twenty of their own', () => {
    const size = 1_000_000;
    for (const index of [0, 1, 255, 256, 65_535, 524_288, 777_777, size - 1]) {
      const ranges = inclusionRanges(index, size);
      const stored = Array.from(storedPositions(ranges).values()).flat().length;
      expect(ranges.length).toBeLessThanOrEqual(20);
      expect(stored).toBeLessThan(1_200);
    }
  });
});
