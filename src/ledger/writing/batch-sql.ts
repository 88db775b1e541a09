import type { Dialect } from '../../database/dialect';
import type { SqlConnection, SqlStatement, SqlValue } from '../../database/sql-connection';
import { ENTRY_COLUMNS, entryValues } from '../chain/entry-columns';
import type { StoredEntry } from '../chain/hash-chain';
import type { OwnedRemoval } from './pending-changes';
import { deleteChunkSql, LEFTOVER_CHUNK, REMEMBER_LEFTOVER } from './leftover-rows';
import type { LedgerPosition } from '../chain/ledger-position';
import type { TreeNode } from '../merkle/tree-frontier';
import { counterName, listItems } from '../records/counter-name';
import type { RecordCodec } from '../records/record-codec';
import type { RowChange } from './write-buffer';
import { LIST_ITEM_COLUMNS, LIST_ITEMS } from '../records/list-items';
import { deleteRows, insertRows, moveCounters, oncePerDialect } from '../records/statements';
import { TREE_NODE_COLUMNS, TREE_NODES, treeNodeValues } from '../schema/ledger-tree-node.entity';

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

const ledgerSql = oncePerDialect((dialect) => ({
  insertEntries: insertRows(dialect, 'ledger_entries', ENTRY_COLUMNS),
  moveCounters: moveCounters(dialect),
  deleteItems: deleteRows(dialect, LIST_ITEMS, 'recordId'),
  insertItems: insertRows(dialect, LIST_ITEMS, LIST_ITEM_COLUMNS),
  insertNodes: insertRows(dialect, TREE_NODES, TREE_NODE_COLUMNS),
}));

/**
 * Writes a batch in a few statements, each of which takes all its rows as one JSON parameter: that costs the event loop
 * little. They are collected and sent together, so a remote server answers all of them in one round trip.
 */
export class BatchSql {
  private readonly counts = new Map<string, number>();
  private wrote = false;
  private statements: SqlStatement[] = [];

  private readonly sql: ReturnType<typeof ledgerSql>;

  constructor(
    private readonly connection: SqlConnection,
    dialect: Dialect,
  ) {
    this.sql = ledgerSql(dialect);
  }

  count(steps: ReadonlyMap<string, number>): void {
    for (const [name, step] of steps) this.counts.set(name, (this.counts.get(name) ?? 0) + step);
  }

  removeOwned(removals: readonly OwnedRemoval[]): void {
    for (const { codec, ownerId, count } of removals) {
      this.add(deleteChunkSql(codec), [ownerId]);
      if (count > LEFTOVER_CHUNK) this.add(REMEMBER_LEFTOVER, [codec.kind.subjectType, ownerId]);
    }
  }

  /** Removes before it adds; removes dependent rows first, and adds owners first. */
  writeRows(changes: readonly RowChange[], order: Iterable<RecordCodec>): void {
    const groups = rowsByKind(changes, order);
    for (const { codec, removed } of groups.toReversed()) this.write(codec.deleteRows, removed);
    for (const { codec, changed, added } of groups) {
      this.write(codec.updateRows, changed);
      this.write(codec.insertRows, added);
    }
    this.writeListItems(changes);
  }

  writeEntries(entries: readonly StoredEntry[]): void {
    this.write(this.sql.insertEntries, entries.map(entryValues));
    this.wrote ||= entries.length > 0;
  }

  /** Writes the subtrees that the entries have completed. */
  writeNodes(nodes: readonly TreeNode[]): void {
    this.write(this.sql.insertNodes, nodes.map(treeNodeValues));
  }

  /** Returns false, and does nothing, if no entry was written. */
  moveHead({ sequence, hash, timestamp, lastUlid, effectSequence, frontier }: LedgerPosition): boolean {
    if (!this.wrote) return false;
    const steps = [...this.counts].filter(([, step]) => step !== 0);
    this.write(this.sql.moveCounters, steps);
    this.add(MOVE_HEAD, [sequence, hash, timestamp, lastUlid, effectSequence, frontier]);
    return true;
  }

  addAll(statements: readonly SqlStatement[]): void {
    this.statements.push(...statements);
  }

  /** Rejects with the failure of the first statement that failed; the transaction must not be committed then. */
  send(): Promise<void> {
    const { statements } = this;
    this.statements = [];
    return this.connection.runAll(statements);
  }

  private writeListItems(changes: readonly RowChange[]): void {
    const changed: SqlValue[][] = [];
    const items: SqlValue[][] = [];
    for (const { codec, id, row, isNew } of changes) {
      const { kind } = codec;
      if (kind.listColumns === undefined) continue;
      if (!isNew) changed.push([id]);
      if (row === null) continue;
      for (const { column, value } of listItems(kind, row)) {
        items.push([counterName(kind.counter, column, value), row.createdSequence, id]);
      }
    }
    this.write(this.sql.deleteItems, changed);
    this.write(this.sql.insertItems, items);
  }

  private write(sql: string, rows: readonly (readonly SqlValue[])[]): void {
    if (rows.length > 0) this.add(sql, [JSON.stringify(rows)]);
  }

  private add(sql: string, parameters: readonly SqlValue[]): void {
    this.statements.push({ sql, parameters });
  }
}

/** The changes to one kind, as the rows of its statements. */
interface KindRows {
  readonly codec: RecordCodec;
  readonly removed: SqlValue[][];
  readonly changed: (readonly SqlValue[])[];
  readonly added: (readonly SqlValue[])[];
}

/** Only kinds that have changes, in the given order. */
function rowsByKind(changes: readonly RowChange[], order: Iterable<RecordCodec>): KindRows[] {
  const groups = new Map<RecordCodec, KindRows>();
  for (const { codec, id, encoded, isNew } of changes) {
    let group = groups.get(codec);
    if (group === undefined) {
      group = { codec, removed: [], changed: [], added: [] };
      groups.set(codec, group);
    }
    if (encoded === null) group.removed.push([id]);
    else (isNew ? group.added : group.changed).push(encoded.values);
  }
  return Array.from(order).flatMap((codec) => groups.get(codec) ?? []);
}
