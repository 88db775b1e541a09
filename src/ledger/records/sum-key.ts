import { type Dialect, quoteName } from '../database/dialect';
import type { RowQuery } from './row-query';
import { oncePerDialect, SUMS } from './statements';

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

/** Equal for equal keys. */
export function sumName({ sum, window, key }: SumKey): string {
  return JSON.stringify([sum, window, key]);
}

/** A sum with its value. */
export interface StoredSum extends SumKey {
  readonly value: string;
}

const selectSums = oncePerDialect((dialect) => {
  const place = dialect.jsonAt(0, { name: 'place', type: 'integer' });
  const keys = ['sum', 'window', 'key'].map(
    (name, index) => `kept.${quoteName(name)} = ${dialect.jsonAt(index + 1, { name, type: 'text' })}`,
  );
  return (
    `SELECT ${place} AS "place", kept."value" FROM ${dialect.jsonElements('$1')} ` +
    `JOIN ${quoteName(SUMS)} AS kept ON ${keys.join(' AND ')}`
  );
});

/** Asks for the value of a sum; there is no row if it is not kept yet. A batch keeps what its commands change in memory. */
export function sumQuery(dialect: Dialect, { sum, window, key }: SumKey): RowQuery {
  return { name: 'sum', sql: selectSums(dialect), key: [sum, window, key], dependsOn: [] };
}
