import type { ColumnDefinition } from '../database/dialect';

/** The table of what JSON lists of records hold, so that records are found by it: `LedgerListItem`. */
export const LIST_ITEMS = 'ledger_list_items';

export const LIST_ITEM_COLUMNS: readonly ColumnDefinition[] = [
  { name: 'item', type: 'text' },
  { name: 'createdSequence', type: 'integer' },
  { name: 'recordId', type: 'text' },
];
