import { StoredEntry } from '../chain/stored-entry';
import type { Dialect } from '../database/dialect';
import { columnsOf, tableName } from '../records/record-codec';
import { deleteRows, insertRows, LIST_ITEMS, oncePerDialect, SUMS, upsertRows } from '../records/statements';
import { LedgerCounter, LedgerListItem, LedgerSum, LedgerTreeNode } from '../schema/ledger-tables';

export type LedgerSql = ReturnType<typeof ledgerSql>;

/** The statements of the ledger's own tables, each of which takes its rows as one JSON array of arrays. */
export const ledgerSql = oncePerDialect((dialect: Dialect) => {
  const insertInto = (table: new () => object): string => insertRows(dialect, tableName(table), columnsOf(table));
  return {
    insertEntries: insertInto(StoredEntry),
    moveCounters:
      `${insertInto(LedgerCounter)} WHERE true ON CONFLICT ("name") ` +
      `DO UPDATE SET "value" = "ledger_counters"."value" + excluded."value"`,
    // Counters that count nothing are deleted: their names may hold erased contents.
    deleteCounters: `${deleteRows(dialect, 'ledger_counters', 'name')} AND "value" = 0`,
    deleteItems: deleteRows(dialect, LIST_ITEMS, 'recordId'),
    insertItems: insertInto(LedgerListItem),
    insertNodes: insertInto(LedgerTreeNode),
    keepSums: upsertRows(dialect, SUMS, columnsOf(LedgerSum), ['sum', 'window', 'key']),
  };
});
