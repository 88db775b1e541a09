import { counterName } from './counter-name';
import type { StoredEntry } from './hash-chain';

/** No kind of record may be counted under this name. */
export const ENTRY_COUNTER = 'ledger_entries';

/** Columns whose values can stand in very many entries: each value has a total of its own. */
export const ENTRIES_COUNTED_BY = ['action', 'outcome', 'agentId'] as const;

/** What an entry adds to the counters. */
export function entryCounts(entry: Pick<StoredEntry, (typeof ENTRIES_COUNTED_BY)[number]>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const column of ENTRIES_COUNTED_BY) {
    const value = entry[column];
    if (value !== null) counts.set(counterName(ENTRY_COUNTER, column, value), 1);
  }
  return counts;
}
