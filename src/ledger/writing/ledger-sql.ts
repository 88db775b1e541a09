import { ENTRY_COLUMNS } from '../chain/entry-columns';
import type { Dialect } from '../database/dialect';
import {
  deleteCounters,
  deleteRows,
  insertRows,
  keepSums,
  LIST_ITEM_COLUMNS,
  LIST_ITEMS,
  moveCounters,
  selectSums,
} from '../records/statements';
import { TREE_NODE_COLUMNS, TREE_NODES } from '../schema/ledger-tables';

export type LedgerSql = ReturnType<typeof ledgerSql>;

/** The statements of the ledger's own tables, which are the same for every batch. */
export function ledgerSql(
  dialect: Dialect,
): Readonly<
  Record<
    | 'insertEntries'
    | 'moveCounters'
    | 'deleteCounters'
    | 'deleteItems'
    | 'insertItems'
    | 'insertNodes'
    | 'selectSums'
    | 'keepSums',
    string
  >
> {
  return {
    insertEntries: insertRows(dialect, 'ledger_entries', ENTRY_COLUMNS),
    moveCounters: moveCounters(dialect),
    deleteCounters: deleteCounters(dialect),
    deleteItems: deleteRows(dialect, LIST_ITEMS, 'recordId'),
    insertItems: insertRows(dialect, LIST_ITEMS, LIST_ITEM_COLUMNS),
    insertNodes: insertRows(dialect, TREE_NODES, TREE_NODE_COLUMNS),
    selectSums: selectSums(dialect),
    keepSums: keepSums(dialect),
  };
}
