import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { storedSubtreeCount, leafHash, TreeFrontier, type TreeHash, type TreeNode, treeOf } from '../merkle/tree';
import type { TreeHead } from '../merkle/proof-check';
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  StoredHashes,
  storedPositions,
} from '../merkle/proof-ranges';
import { arraysOfOne } from '../records/statements';

/** The columns are qualified, because SQLite takes the bare name of a missing column for a string literal. */
const SELECT_HEAD = `SELECT head."sequence", head."frontier" FROM "ledger_head" AS head WHERE head."id" = 1`;
const SELECT_SUBTREE = `SELECT "hash" FROM "ledger_tree_nodes" WHERE "level" = $1 AND "position" = $2`;
/** Reads both counts from one snapshot, because the log grows. */
const COUNT_SUBTREES =
  `SELECT (SELECT count(*) FROM "ledger_tree_nodes") AS "stored", ` +
  `(SELECT max("sequence") FROM "ledger_entries" WHERE "sequence" <= ${Number.MAX_SAFE_INTEGER}) AS "entries"`;

/** Proves that an entry is in the tree of a size: RFC 6962, section 2.1.1. */
export interface InclusionProof {
  readonly leafHash: TreeHash;
  readonly tree: TreeHead;
  /** Hashes from the leaf to the root. */
  readonly hashes: readonly TreeHash[];
}

/** Proves that one tree extends another: RFC 6962, section 2.1.2. */
export interface ConsistencyProof {
  readonly earlier: TreeHead;
  readonly later: TreeHead;
  readonly hashes: readonly TreeHash[];
}

/**
 * Reads the Merkle tree over the entries. The part within a committed head never changes, so the reads of one proof
 * need no snapshot. A proof reads a few hundred hashes at most, however long the chain is.
 */
@Injectable()
export class TreeReader {
  constructor(@Inject(Database) private readonly database: Pick<Database, 'points' | 'chain' | 'dialect'>) {}

  /** Returns the current tree according to the head record; an empty tree if there is no head record. */
  async head(): Promise<TreeHead> {
    const [row] = await this.database.points.all<{ sequence: number; frontier: string }>(SELECT_HEAD);
    const { size, root } = row === undefined ? TreeFrontier.empty() : treeOf(row);
    return { size, rootHash: root };
  }

  /** @param sequence sequence from 1 to `size` @param size size up to the current one */
  async inclusion(sequence: number, size: number): Promise<InclusionProof> {
    const leaf = { begin: sequence - 1, end: sequence };
    const ranges = [leaf, { begin: 0, end: size }, ...inclusionRanges(leaf.begin, size)];
    const [hash = '', rootHash = '', ...hashes] = await this.roots(ranges);
    return { leafHash: hash, tree: { size, rootHash }, hashes };
  }

  /** @param from size up to `to` @param to size up to the current one */
  async consistency(from: number, to: number): Promise<ConsistencyProof> {
    const ranges = [{ begin: 0, end: from }, { begin: 0, end: to }, ...consistencyRanges(from, to)];
    const [earlier = '', later = '', ...hashes] = await this.roots(ranges);
    return { earlier: { size: from, rootHash: earlier }, later: { size: to, rootHash: later }, hashes };
  }

  /** True if these subtrees are stored unchanged. */
  async hasSubtrees(nodes: readonly TreeNode[]): Promise<boolean> {
    for (const { level, position, hash } of nodes) {
      const [stored] = await this.database.chain.all<{ hash: unknown }>(SELECT_SUBTREE, [level, position]);
      if (stored?.hash !== hash) return false;
    }
    return true;
  }

  /** True if there are as many stored subtrees as the log has completed. */
  async hasNoOtherSubtrees(): Promise<boolean> {
    const [count] = await this.database.chain.all<{ stored: number; entries: number | null }>(COUNT_SUBTREES);
    return count?.stored === storedSubtreeCount(count?.entries ?? 0);
  }

  private async roots(ranges: readonly LeafRange[]): Promise<TreeHash[]> {
    const stored = new StoredHashes();
    await Promise.all(Array.from(storedPositions(ranges), ([level, positions]) => this.read(level, positions, stored)));
    return ranges.map((range) => stored.root(range));
  }

  private async read(level: number, positions: readonly number[], into: StoredHashes): Promise<void> {
    const { points, dialect } = this.database;
    const place = dialect.jsonAt(0, { name: 'place', type: 'integer' });
    const positionsSql = `(SELECT ${place} FROM ${dialect.jsonElements('$1')})`;
    if (level === 0) {
      const sql = `SELECT "sequence", "hash" FROM "ledger_entries" WHERE "sequence" IN ${positionsSql}`;
      const sequences = arraysOfOne(positions.map((position) => position + 1));
      const entries = await points.all<{ sequence: number; hash: unknown }>(sql, [sequences]);
      for (const { sequence, hash } of entries) into.add(level, sequence - 1, leafHash(hash));
      return;
    }
    const sql = `SELECT "position", "hash" FROM "ledger_tree_nodes" WHERE "level" = $2 AND "position" IN ${positionsSql}`;
    const nodes = await points.all<{ position: number; hash: unknown }>(sql, [arraysOfOne(positions), level]);
    for (const { position, hash } of nodes) into.add(level, position, hash);
  }
}
