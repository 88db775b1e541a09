import { type Decimal, parsedDecimal } from '../../core/values/decimal';
import { type SumKey, sumName } from '../../ledger/records/sum-key';
import { claimName } from '../policies/conditions/facts';
import { earlierName } from '../policies/conditions/facts';
import type { ClaimKey, EarlierKey, KnownClaim } from '../policies/conditions/facts';
import type { Asks } from '../policies/evaluation/policy-evaluator';
import type { Facts } from '../policies/evaluation/evaluation';

/** Where facts are read: now, inside a command, or as they were. */
export interface FactSource {
  /** The values of sums, in order. Absent: no limit is to count as reached. */
  readonly sums?: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>;
  /** The ids of earlier executions, in order. */
  readonly earlier: (keys: readonly EarlierKey[]) => Promise<readonly (string | null)[]>;
  /** What is claimed, in order; null where nothing is known. */
  readonly claims: (keys: readonly ClaimKey[]) => Promise<readonly (readonly KnownClaim[] | null)[]>;
}

/**
 * Gathers what policies ask besides the request, each kind in one statement. Undefined if they ask nothing, which is most
 * often so.
 */
export async function gatheredFacts(asks: readonly Asks[], source: FactSource): Promise<Facts | undefined> {
  if (asks.every(({ uses, facts }) => uses.length === 0 && facts.length === 0)) return undefined;
  const keys = asks.flatMap(({ uses }) => uses.map(({ sum }) => sum));
  const facts = asks.flatMap((one) => one.facts);
  const earlier = facts.flatMap((fact) => ('earlier' in fact ? fact.earlier : []));
  const claims = facts.flatMap((fact) => ('claim' in fact ? fact.claim : []));
  return {
    sums: source.sums === undefined ? undefined : await summed(keys, source.sums),
    earlier: await found(earlier, earlierName, source.earlier),
    claims: await found(claims, claimName, source.claims),
  };
}

/** What was found for each key, by its name; each is asked for once. */
async function found<Key, Value>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<readonly (Value | null)[]>,
): Promise<ReadonlyMap<string, Value | null>> {
  const asked = new Map(keys.map((key) => [nameOf(key), key]));
  const values = asked.size === 0 ? [] : await read([...asked.values()]);
  return new Map([...asked.keys()].map((name, index) => [name, values[index] ?? null]));
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
