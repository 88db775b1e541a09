import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { leafHash, TreeFrontier, type TreeHash, type TreeNode, treeOf } from '../merkle/tree';
import type { TreeHead } from '../merkle/proof-check';
import {
  consistencyRanges,
  inclusionRanges,
  type LeafRange,
  StoredHashes,
  type StoredRange,
  storedRanges,
} from '../merkle/proof-ranges';
import { chunksOf } from './chunks';

/** Qualified: SQLite takes the bare name of a missing column for a string literal. */
const SELECT_HEAD = `SELECT head."sequence", head."frontier" FROM "ledger_head" AS head WHERE head."id" = 1`;
const SELECT_LEAVES =
  `SELECT "sequence" - 1 AS "position", "hash" FROM "ledger_entries" ` + `WHERE "sequence" > $1 AND "sequence" <= $2`;
const SELECT_NODES =
  `SELECT "position", "hash" FROM "ledger_tree_nodes" ` + `WHERE "level" = $3 AND "position" >= $1 AND "position" < $2`;

const KEPT = `SELECT "level", "position", "hash" FROM "ledger_tree_nodes"`;
const IN_ORDER = `ORDER BY "level", "position" LIMIT $1`;
/** No lower bound, so that rows added by others are read as well. */
const SELECT_FIRST_KEPT = `${KEPT} ${IN_ORDER}`;
const SELECT_NEXT_KEPT = `${KEPT} WHERE ("level", "position") > ($2, $3) ${IN_ORDER}`;

/** Kept subtrees read at once. */
const KEPT_CHUNK = 1_000;

/** Proves that an entry is in the tree of a size: RFC 6962, section 2.1.1. */
export interface InclusionProof {
  readonly leafHash: TreeHash;
  readonly tree: TreeHead;
  /** From the leaf to the root. */
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
  constructor(@Inject(Database) private readonly database: Pick<Database, 'points' | 'chain'>) {}

  /** The current tree, according to the head record; empty before there is one. */
  async head(): Promise<TreeHead> {
    const [row] = await this.database.points.all<{ sequence: number; frontier: string }>(SELECT_HEAD);
    const { size, root } = row === undefined ? TreeFrontier.empty() : treeOf(row);
    return { size, rootHash: root };
  }

  /** @param sequence from 1 to `size`. @param size at most the current size. */
  async inclusion(sequence: number, size: number): Promise<InclusionProof> {
    const leaf = { begin: sequence - 1, end: sequence };
    const ranges = [leaf, { begin: 0, end: size }, ...inclusionRanges(leaf.begin, size)];
    const [hash = '', rootHash = '', ...hashes] = await this.roots(ranges);
    return { leafHash: hash, tree: { size, rootHash }, hashes };
  }

  /** @param from at most `to`. @param to at most the current size. */
  async consistency(from: number, to: number): Promise<ConsistencyProof> {
    const ranges = [{ begin: 0, end: from }, { begin: 0, end: to }, ...consistencyRanges(from, to)];
    const [earlier = '', later = '', ...hashes] = await this.roots(ranges);
    return { earlier: { size: from, rootHash: earlier }, later: { size: to, rootHash: later }, hashes };
  }

  /**
   * The kept subtrees in chunks, lower levels first and from left to right. Rows added by others may not be valid
   * subtrees: nothing can be looked up after such a row.
   */
  kept(): AsyncGenerator<Record<keyof TreeNode, unknown>[]> {
    const { chain } = this.database;
    return chunksOf((last) =>
      last === undefined
        ? chain.all(SELECT_FIRST_KEPT, [KEPT_CHUNK])
        : chain.all(SELECT_NEXT_KEPT, [KEPT_CHUNK, Number(last.level), Number(last.position)]),
    );
  }

  private async roots(ranges: readonly LeafRange[]): Promise<TreeHash[]> {
    const stored = new StoredHashes();
    await Promise.all(storedRanges(ranges).map((range) => this.read(range, stored)));
    return ranges.map((range) => stored.root(range));
  }

  private async read({ level, begin, end }: StoredRange, into: StoredHashes): Promise<void> {
    const isLeaves = level === 0;
    const [sql, parameters] = isLeaves ? [SELECT_LEAVES, [begin, end]] : [SELECT_NODES, [begin, end, level]];
    const rows = await this.database.points.all<{ position: number; hash: unknown }>(sql, parameters);
    for (const { position, hash } of rows) into.add(level, position, isLeaves ? leafHash(hash) : hash);
  }
}
