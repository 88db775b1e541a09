import type { ColumnDefinition } from '../../database/dialect';

/** The table of what JSON lists of records hold, so that records are found by it: `LedgerListItem`. */
export const LIST_ITEMS = 'ledger_list_items';

/** False where an altered row holds bytes, as SQLite allows: these are neither JSON nor in the order of texts. */
export const IS_TEXT_ITEM = `"item" = CAST("item" AS text)`;
/** False for other types, too, and for what a driver would round. */
export const IS_LISTED_SEQUENCE = `"createdSequence" BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;

export const LIST_ITEM_COLUMNS: readonly ColumnDefinition[] = [
  { name: 'item', type: 'text' },
  { name: 'createdSequence', type: 'integer' },
  { name: 'recordId', type: 'text' },
];
