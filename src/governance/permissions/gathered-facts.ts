import { type Decimal, parsedDecimal } from '../../core/values/decimal';
import { type SumKey, sumName } from '../../ledger/records/sum-key';
import { earlierName } from '../policies/conditions/earlier';
import type { EarlierKey } from '../policies/conditions/facts';
import type { Asks } from '../policies/evaluation/asking-policies';
import type { Facts } from '../policies/evaluation/evaluation';

/** Where facts are read: now, inside a command, or as they were. */
export interface FactSource {
  /** The values of sums, in order. Absent: no limit is to count as reached. */
  readonly sums?: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>;
  /** The ids of earlier executions, in order. */
  readonly earlier: (keys: readonly EarlierKey[]) => Promise<readonly (string | null)[]>;
}

/**
 * Gathers what policies ask besides the request, each kind in one statement. Undefined if they ask nothing, which is most
 * often so.
 */
export async function gatheredFacts(asks: readonly Asks[], source: FactSource): Promise<Facts | undefined> {
  if (asks.every(({ uses, facts }) => uses.length === 0 && facts.length === 0)) return undefined;
  const keys = asks.flatMap(({ uses }) => uses.map(({ sum }) => sum));
  const earlier = new Map(asks.flatMap(({ facts }) => facts.map((fact) => [earlierName(fact.earlier), fact.earlier])));
  const [sums, found] = await Promise.all([
    source.sums === undefined ? undefined : summed(keys, source.sums),
    earlier.size === 0 ? [] : source.earlier([...earlier.values()]),
  ]);
  return { sums, earlier: new Map([...earlier.keys()].map((name, index) => [name, found[index] ?? null])) };
}

async function summed(
  keys: readonly SumKey[],
  read: NonNullable<FactSource['sums']>,
): Promise<ReadonlyMap<string, Decimal>> {
  const values = keys.length === 0 ? [] : await read(keys);
  const sums = new Map<string, Decimal>();
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value !== undefined) sums.set(sumName(key), parsedDecimal(value));
  }
  return sums;
}
