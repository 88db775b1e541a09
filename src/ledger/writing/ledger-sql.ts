import type { LedgerPosition } from '../chain/ledger-position';
import { StoredEntry } from '../chain/stored-entry';
import type { Dialect } from '../database/dialect';
import type { SqlStatement } from '../database/sql-connection';
import { columnsOf, tableName } from '../records/record-codec';
import { deleteRows, insertRows, LIST_ITEMS, oncePerDialect, SUMS, upsertRows } from '../records/statements';
import { LedgerCounter, LedgerListItem, LedgerSum, LedgerTreeNode } from '../schema/ledger-tables';

const MOVE_HEAD = `UPDATE "ledger_head" SET "sequence" = $1, "hash" = $2, "timestamp" = $3, "lastUlid" = $4, "effectSequence" = $5, "frontier" = $6 WHERE "id" = 1`;

export type LedgerSql = ReturnType<typeof ledgerSql>;

/** The statements of the ledger's own tables, each of which takes its rows as one JSON array of arrays. */
export const ledgerSql = oncePerDialect((dialect: Dialect) => {
  const insertInto = (table: new () => object): string => insertRows(dialect, tableName(table), columnsOf(table));
  return {
    insertEntries: insertInto(StoredEntry),
    moveCounters:
      `${insertInto(LedgerCounter)} WHERE true ON CONFLICT ("name") ` +
      `DO UPDATE SET "value" = "ledger_counters"."value" + excluded."value"`,
    // Those of them that count nothing: their names may hold what was erased.
    deleteCounters: `${deleteRows(dialect, 'ledger_counters', 'name')} AND "value" = 0`,
    deleteItems: deleteRows(dialect, LIST_ITEMS, 'recordId'),
    insertItems: insertInto(LedgerListItem),
    insertNodes: insertInto(LedgerTreeNode),
    keepSums: upsertRows(dialect, SUMS, columnsOf(LedgerSum), ['sum', 'window', 'key']),
  };
});

/** The statements that move the counters, of which those at zero go, and the head. */
export function headStatements(
  sql: Readonly<Record<'moveCounters' | 'deleteCounters', string>>,
  counts: ReadonlyMap<string, number>,
  head: LedgerPosition,
): SqlStatement[] {
  const { sequence, hash, timestamp, lastUlid, effectSequence, frontier } = head;
  const steps = [...counts].filter(([, step]) => step !== 0);
  const lower = steps.filter(([, step]) => step < 0);
  return [
    ...(steps.length === 0 ? [] : [{ sql: sql.moveCounters, parameters: [JSON.stringify(steps)] }]),
    ...(lower.length === 0 ? [] : [{ sql: sql.deleteCounters, parameters: [JSON.stringify(lower)] }]),
    { sql: MOVE_HEAD, parameters: [sequence, hash, timestamp, lastUlid, effectSequence, frontier] },
  ];
}
