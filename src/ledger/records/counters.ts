import type { AnyRecordKind, GovernedRow } from '../kinds/record-kind';
import type { StoredEntry } from '../chain/stored-entry';

/** The counter of the rows whose counted column has, or contains, the value, such as `entities:type:service`. */
export function counterName(counter: string, column: string, value: unknown): string {
  return `${counter}:${column}:${String(value)}`;
}

/** The items of a row's list columns, each value once. */
export function listItems(
  { listColumns = [] }: AnyRecordKind,
  row: GovernedRow,
): { readonly column: string; readonly value: string }[] {
  return listColumns.flatMap((column) => [...new Set(listOf(row, column))].map((value) => ({ column, value })));
}

/** Every counter that counts the row. */
export function countersOf(kind: AnyRecordKind, row: GovernedRow): string[] {
  const { counter, countedBy = [] } = kind;
  const ofItems = listItems(kind, row).map(({ column, value }) => counterName(counter, column, value));
  return [counter, ...countersByValue(counter, countedBy, row), ...ofItems];
}

/** The counters of its values in some columns. */
function countersByValue(counter: string, columns: readonly string[], row: object): string[] {
  const values = row as Readonly<Record<string, unknown>>;
  return columns
    .filter((column) => values[column] !== null)
    .map((column) => counterName(counter, column, values[column]));
}

function listOf(row: GovernedRow, column: string): readonly string[] {
  return (row as unknown as Readonly<Record<string, readonly string[]>>)[column] ?? [];
}

/** Reserved: no kind of record may be counted under this name. */
export const ENTRY_COUNTER = 'ledger_entries';

/** Columns whose values can occur in very many entries: each value has a total of its own. */
export const ENTRIES_COUNTED_BY = ['action', 'outcome', 'agentId'] as const;

type CountedEntry = Pick<StoredEntry, (typeof ENTRIES_COUNTED_BY)[number]>;

/** Every counter that counts the entry. */
export function countersOfEntry(entry: CountedEntry): string[] {
  return countersByValue(ENTRY_COUNTER, ENTRIES_COUNTED_BY, entry);
}

/** What a command adds to counters, by name. */
export class CounterSteps extends Map<string, number> {
  add(name: string, step: number): void {
    this.set(name, (this.get(name) ?? 0) + step);
  }

  addRow(kind: AnyRecordKind, row: GovernedRow, step: number): void {
    for (const counter of countersOf(kind, row)) this.add(counter, step);
  }

  addEntry(entry: CountedEntry): void {
    for (const counter of countersOfEntry(entry)) this.add(counter, 1);
  }

  addAll(steps: CounterSteps): void {
    for (const [counter, step] of steps) this.add(counter, step);
  }
}
