import { type Dialect, quoteName } from '../database/dialect';
import type { RowQuery } from './row-query';
import { oncePerDialect, SUMS } from './statements';

/**
 * Key of a sum that the ledger stores next to the records. Sums are derived from entries, and verified against them.
 */
export interface SumKey {
  /** Name of the added quantity. */
  readonly sum: string;
  /** Beginning of the window: ISO 8601. */
  readonly window: string;
  /** The party that the sum is about; empty for everybody. */
  readonly key: string;
}

/** Returns equal names for equal keys. */
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

/**
 * Returns a query for the value of a sum, without a row if the sum is not stored yet. A batch holds sums that its
 * commands change in memory.
 */
export function sumQuery(dialect: Dialect, { sum, window, key }: SumKey): RowQuery {
  return { name: 'sum', sql: selectSums(dialect), key: [sum, window, key], dependsOn: [] };
}
