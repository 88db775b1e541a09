import { type Decimal, parsedDecimal } from '../../core/values/decimal';
import { type SumKey, sumName } from '../../ledger/records/sum-key';
import type { Facts } from '../policies/evaluation/evaluation';
import type { AskedUse } from '../policies/limits/limit';

/**
 * Gathers in one statement what policies ask besides the request. Undefined if they ask nothing, which is most often
 * so.
 * @param read returns the values of sums, in order.
 */
export async function gatheredFacts(
  asked: readonly AskedUse[],
  read: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>,
): Promise<Facts | undefined> {
  if (asked.length === 0) return undefined;
  const keys = asked.map(({ sum }) => sum);
  const values = await read(keys);
  const sums = new Map<string, Decimal>();
  for (const [index, key] of keys.entries()) {
    const value = values[index];
    if (value !== undefined) sums.set(sumName(key), parsedDecimal(value));
  }
  return { sums };
}
