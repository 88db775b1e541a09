import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { StoredEntry } from '../chain/stored-entry';

/** The counter of the rows whose counted column has, or contains, the value, such as `entities:type:service`. */
export function counterName(counter: string, column: string, value: unknown): string {
  return `${counter}:${column}:${String(value)}`;
}

/** One item of a JSON list in a column of a row. */
export interface ListItem {
  readonly column: string;
  readonly value: string;
}

/** The items of a row's list columns, each value once. */
export function listItems({ listColumns = [] }: AnyRecordKind, row: GovernedRow): ListItem[] {
  return listColumns.flatMap((column) => [...new Set(listOf(row, column))].map((value) => ({ column, value })));
}

/** Every counter that counts the row. */
export function countersOf(kind: AnyRecordKind, row: GovernedRow): string[] {
  const { counter, countedBy = [] } = kind;
  const columns = row as unknown as Readonly<Record<string, unknown>>;
  return [
    counter,
    ...countedBy
      .filter((column) => columns[column] !== null)
      .map((column) => counterName(counter, column, columns[column])),
    ...listItems(kind, row).map(({ column, value }) => counterName(counter, column, value)),
  ];
}

function listOf(row: GovernedRow, column: string): readonly string[] {
  return (row as unknown as Readonly<Record<string, readonly string[]>>)[column] ?? [];
}

/** Reserved: no kind of record may be counted under this name. */
export const ENTRY_COUNTER = 'ledger_entries';

/** Columns whose values can occur in very many entries: each value has a total of its own. */
export const ENTRIES_COUNTED_BY = ['action', 'outcome', 'agentId'] as const;

/** Every counter that counts the entry. */
export function countersOfEntry(entry: Pick<StoredEntry, (typeof ENTRIES_COUNTED_BY)[number]>): string[] {
  return ENTRIES_COUNTED_BY.filter((column) => entry[column] !== null).map((column) =>
    counterName(ENTRY_COUNTER, column, entry[column]),
  );
}
