import { type Dialect, quoted } from '../database/dialect';
import type { SqlConnection, SqlStatement, SqlValue } from '../database/sql-connection';
import { ENTRY_COLUMNS } from '../chain/entry-columns';
import type { StoredEntry } from '../chain/hash-chain';
import type { OwnedRemoval, RowChange } from './pending-changes';
import type { LedgerPosition } from '../chain/ledger-position';
import type { TreeNode } from '../merkle/tree';
import { counterName, listItems } from '../records/counter-name';
import type { RecordCodec } from '../records/record-codec';
import { deleteRows, insertRows, LIST_ITEM_COLUMNS, LIST_ITEMS, moveCounters } from '../records/statements';
import { LEFTOVERS, TREE_NODE_COLUMNS, TREE_NODES, treeNodeValues } from '../schema/ledger-tables';
import { ownerColumn } from '../records/record-catalog';

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

/** Rows of one statement: more than ordinary batches have. */
const AT_ONCE = 1_000;

export type LedgerSql = ReturnType<typeof ledgerSql>;

/** The statements of the ledger's own tables, which are the same for every batch. */
export function ledgerSql(
  dialect: Dialect,
): Readonly<Record<'insertEntries' | 'moveCounters' | 'deleteItems' | 'insertItems' | 'insertNodes', string>> {
  return {
    insertEntries: insertRows(dialect, 'ledger_entries', ENTRY_COLUMNS),
    moveCounters: moveCounters(dialect),
    deleteItems: deleteRows(dialect, LIST_ITEMS, 'recordId'),
    insertItems: insertRows(dialect, LIST_ITEMS, LIST_ITEM_COLUMNS),
    insertNodes: insertRows(dialect, TREE_NODES, TREE_NODE_COLUMNS),
  };
}

/**
 * Writes a batch in a few statements, each of which takes all its rows as one JSON parameter: that costs the event loop
 * little. They are collected and sent together, so a remote server answers all of them in one round trip.
 */
export class BatchSql {
  private readonly counts = new Map<string, number>();
  private wrote = false;
  private statements: SqlStatement[] = [];

  constructor(
    private readonly connection: SqlConnection,
    private readonly sql: LedgerSql,
  ) {}

  count(steps: ReadonlyMap<string, number>): void {
    for (const [name, step] of steps) this.counts.set(name, (this.counts.get(name) ?? 0) + step);
  }

  /** Removes before it adds; removes dependent rows first, and adds owners first. In steps: there may be thousands. */
  *writeRows(
    changes: readonly RowChange[],
    removals: readonly OwnedRemoval[],
    order: readonly RecordCodec[],
  ): Generator<void> {
    for (const { codec, ownerId, count } of removals) {
      this.add(deleteChunkSql(codec), [ownerId]);
      if (count > LEFTOVER_CHUNK) this.add(REMEMBER_LEFTOVER, [codec.kind.subjectType, ownerId]);
    }
    const groups = rowsByKind(changes, order);
    for (const { codec, removed } of groups.toReversed()) yield* this.write(codec.deleteRows, removed);
    for (const { codec, changed, added } of groups) {
      yield* this.write(codec.updateRows, changed);
      yield* this.write(codec.insertRows, added);
    }
    yield* this.writeListItems(changes);
  }

  *writeEntries(entries: readonly StoredEntry[]): Generator<void> {
    yield* this.write(this.sql.insertEntries, entries.map(entryValues));
    this.wrote ||= entries.length > 0;
  }

  /** Writes the subtrees that the entries have completed. */
  *writeNodes(nodes: readonly TreeNode[]): Generator<void> {
    yield* this.write(this.sql.insertNodes, nodes.map(treeNodeValues));
  }

  /** Returns false, and does nothing, if no entry was written. */
  moveHead({ sequence, hash, timestamp, lastUlid, effectSequence, frontier }: LedgerPosition): boolean {
    if (!this.wrote) return false;
    const steps = [...this.counts].filter(([, step]) => step !== 0);
    if (steps.length > 0) this.add(this.sql.moveCounters, [JSON.stringify(steps)]);
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

  private *writeListItems(changes: readonly RowChange[]): Generator<void> {
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
    yield* this.write(this.sql.deleteItems, changed);
    yield* this.write(this.sql.insertItems, items);
  }

  private *write(sql: string, rows: readonly (readonly SqlValue[])[]): Generator<void> {
    for (let start = 0; start < rows.length; start += AT_ONCE) {
      this.add(sql, [JSON.stringify(rows.length > AT_ONCE ? rows.slice(start, start + AT_ONCE) : rows)]);
      yield;
    }
  }

  private add(sql: string, parameters: readonly SqlValue[]): void {
    this.statements.push({ sql, parameters });
  }
}

function entryValues(entry: StoredEntry): SqlValue[] {
  return ENTRY_COLUMNS.map(({ name }) => entry[name]);
}

/** The changes to one kind, as the rows of its statements. */
interface KindRows {
  readonly codec: RecordCodec;
  readonly removed: SqlValue[][];
  readonly changed: (readonly SqlValue[])[];
  readonly added: (readonly SqlValue[])[];
}

/** Only kinds that have changes, in the given order. */
function rowsByKind(changes: readonly RowChange[], order: readonly RecordCodec[]): KindRows[] {
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
  return order.flatMap((codec) => groups.get(codec) ?? []);
}

/** Most dependent rows deleted in one transaction: takes some milliseconds. */
export const LEFTOVER_CHUNK = 1_000;

export const REMEMBER_LEFTOVER = `INSERT INTO "${LEFTOVERS}" ("subjectType", "ownerId") VALUES ($1, $2)`;

/** Deletes the first rows of the owner `$1`. */
export function deleteChunkSql({ kind, table }: RecordCodec): string {
  const chunk =
    `SELECT "id" FROM ${quoted(table)} WHERE ${quoted(ownerColumn(kind))} = $1 ` +
    `ORDER BY "createdSequence" LIMIT ${LEFTOVER_CHUNK}`;
  return `DELETE FROM ${quoted(table)} WHERE "id" IN (${chunk})`;
}

/** A removed owner with rows to delete. If the owner still exists, nothing is deleted, whoever put it in the table. */
export function selectLeftoverSql({ kind }: RecordCodec, owners: RecordCodec): string {
  return (
    `SELECT "ownerId" FROM "${LEFTOVERS}" WHERE "subjectType" = '${kind.subjectType}' AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoted(owners.table)} AS owner WHERE owner."id" = "ownerId") LIMIT 1`
  );
}

/** Removes the owner `$2` of rows of the kind `$1` from the table, once none of them is left. */
export function forgetLeftoverSql({ kind, table }: RecordCodec): string {
  return (
    `DELETE FROM "${LEFTOVERS}" WHERE "subjectType" = $1 AND "ownerId" = $2 AND NOT EXISTS ` +
    `(SELECT 1 FROM ${quoted(table)} WHERE ${quoted(ownerColumn(kind))} = $2)`
  );
}
