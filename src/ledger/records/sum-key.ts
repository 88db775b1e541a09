/**
 * Names what a sum is of that the ledger keeps next to the records: sums are derived from entries, and verified against
 * them.
 */
export interface SumKey {
  /** What is added up. */
  readonly sum: string;
  /** Since when: ISO 8601. */
  readonly window: string;
  /** For whom; empty for everybody. */
  readonly key: string;
}

/** The same text for the same sum. */
export function sumName({ sum, window, key }: SumKey): string {
  return JSON.stringify([sum, window, key]);
}
