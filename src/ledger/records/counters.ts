import type { AnyRecordKind, GovernedRow } from '../kinds/record-kind';
import type { StoredEntry } from '../chain/stored-entry';

/**
 * Returns the counter of the rows whose counted column equals, or contains, the value, such as `entities:type:service`.
 */
export function counterName(counter: string, column: string, value: unknown): string {
  return `${counter}:${column}:${String(value)}`;
}

/** Returns the items of a row's list columns, each value once. */
export function listItems(
  { listColumns = [] }: AnyRecordKind,
  row: GovernedRow,
): { readonly column: string; readonly value: string }[] {
  return listColumns.flatMap((column) => [...new Set(listOf(row, column))].map((value) => ({ column, value })));
}

/** Returns all counters that count the row. */
export function countersOf(kind: AnyRecordKind, row: GovernedRow): string[] {
  const { counter, countedBy = [] } = kind;
  const ofItems = listItems(kind, row).map(({ column, value }) => counterName(counter, column, value));
  return [counter, ...countersByValue(counter, countedBy, row), ...ofItems];
}

/** Returns the counters of the values in some columns. */
function countersByValue(counter: string, columns: readonly string[], row: object): string[] {
  const values = row as Readonly<Record<string, unknown>>;
  return columns
    .filter((column) => values[column] !== null)
    .map((column) => counterName(counter, column, values[column]));
}

function listOf(row: GovernedRow, column: string): readonly string[] {
  return (row as unknown as Readonly<Record<string, readonly string[]>>)[column] ?? [];
}

/** Reserved name: no kind of record may be counted under it. */
export const ENTRY_COUNTER = 'ledger_entries';

/** Columns whose values can each occur in very many entries, and therefore have a total. */
export const ENTRIES_COUNTED_BY = ['action', 'outcome', 'agentId'] as const;

type CountedEntry = Pick<StoredEntry, (typeof ENTRIES_COUNTED_BY)[number]>;

/** Returns all counters that count the entry. */
export function countersOfEntry(entry: CountedEntry): string[] {
  return countersByValue(ENTRY_COUNTER, ENTRIES_COUNTED_BY, entry);
}

/** Steps by which a command moves counters, by name. */
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
