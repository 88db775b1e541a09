import type { ColumnDefinition } from '../../database/dialect';

/** The table of the items of JSON lists in records, an index to find records by: `LedgerListItem`. */
export const LIST_ITEMS = 'ledger_list_items';

/** False if an altered row holds bytes, as SQLite allows: these are neither JSON nor sorted like texts. */
export const IS_TEXT_ITEM = `"item" = CAST("item" AS text)`;
/** Also false for other types, and for numbers a driver would round. */
export const IS_LISTED_SEQUENCE = `"createdSequence" BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;

export const LIST_ITEM_COLUMNS: readonly ColumnDefinition[] = [
  { name: 'item', type: 'text' },
  { name: 'createdSequence', type: 'integer' },
  { name: 'recordId', type: 'text' },
];
