import { Injectable } from '@nestjs/common';
import { parsedDecimal } from '../../core/values/decimal';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { Database } from '../../ledger/database/database';
import { type AskedRows, readAsked, type RowsAsked } from '../../ledger/records/rows-asked';
import { type SumKey, sumName } from '../../ledger/records/sum-key';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { KnownClaims } from '../entities/known-claims';
import { EarlierExecutions } from '../executions/earlier-executions';
import type { DecisionBasis } from '../executions/execution.entity';
import {
  type ClaimKey,
  claimName,
  type ConditionQuestion,
  type EarlierKey,
  earlierName,
  type KnownClaim,
} from '../policies/conditions/condition';
import type { AskedFact, Facts } from '../policies/evaluation/evaluation';
import type { Asks } from '../policies/evaluation/policy-evaluator';

/** Where facts are read: now, inside a command, or as they were. Each returns what it finds for each key, in order. */
export interface FactSource {
  /** The values of sums. Absent: no limit is to count as reached. */
  readonly sums?: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>;
  /** The ids of earlier executions. */
  readonly earlier: (keys: readonly EarlierKey[]) => Promise<readonly (string | null)[]>;
  /** What is claimed; null where nothing is known. */
  readonly claims: (keys: readonly ClaimKey[]) => Promise<readonly (readonly KnownClaim[] | null)[]>;
}

/** Reads what conditions ask besides the request. */
@Injectable()
export class FactReader {
  constructor(
    private readonly earlier: EarlierExecutions,
    private readonly claims: KnownClaims,
    private readonly counters: CounterReader,
    private readonly database: Database,
  ) {}

  /** @param upTo the sequence of an entry, when no limit counts as reached; undefined: now. */
  at(upTo?: number): FactSource {
    const read: AskedRows = (asked) => readAsked(this.database.points, asked);
    if (upTo !== undefined) {
      return {
        earlier: (keys) => this.earlier.find(read, keys, { upTo }),
        claims: (keys) => Promise.all(keys.map((key) => this.claims.findPast(key, upTo))),
      };
    }
    return {
      sums: (keys) => this.counters.sums(keys),
      earlier: (keys) => this.earlier.find(read, keys),
      claims: (keys) => this.claims.find(read, keys),
    };
  }

  /**
   * Inside a command.
   * @param except.besides id of an execution that does not count as earlier
   * @param except.limitsAside as if no limit had been reached
   */
  within(
    transaction: Pick<LedgerTransaction, 'sums' | 'asked'>,
    { besides, limitsAside }: { readonly besides: string | undefined; readonly limitsAside: boolean },
  ): FactSource {
    const read: AskedRows = (asked) => transaction.asked(asked);
    return {
      ...(!limitsAside && { sums: (keys) => transaction.sums(keys) }),
      earlier: (keys) => this.earlier.find(read, keys, { besides }),
      claims: (keys) => this.claims.find(read, keys),
    };
  }

  /** What these ask the database inside a command. */
  asked(facts: readonly ConditionQuestion[]): RowsAsked[] {
    return facts.map((fact) => ('earlier' in fact ? this.earlier.asked(fact.earlier) : this.claims.asked(fact.claim)));
  }
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
  const sums = source.sums && (await found(keys, sumName, source.sums));
  return {
    sums:
      sums && new Map([...sums].flatMap(([name, sum]) => (sum === null ? [] : [[name, parsedDecimal(sum)] as const]))),
    earlier: await found(earlier, earlierName, source.earlier),
    claims: await found(claims, claimName, source.claims),
  };
}

/** What was found for each key, by its name; each is asked for once. */
async function found<Key, Value>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<readonly (Value | null | undefined)[]>,
): Promise<ReadonlyMap<string, Value | null>> {
  const asked = new Map(keys.map((key) => [nameOf(key), key]));
  const values = asked.size === 0 ? [] : await read([...asked.values()]);
  return new Map([...asked.keys()].map((name, index) => [name, values[index] ?? null]));
}

/** What conditions asked besides the request, and what was found: as entries say it. */
export function recordedFacts(
  looked: readonly AskedFact[],
  facts: Facts | undefined,
): Pick<DecisionBasis, 'earlier' | 'claims'> {
  const earlier = looked.flatMap(({ policyId, condition, ...asked }) =>
    'earlier' in asked
      ? { policyId, condition, executionId: facts?.earlier.get(earlierName(asked.earlier)) ?? null }
      : [],
  );
  const claims = looked.flatMap(({ policyId, condition, ...asked }) => {
    if (!('claim' in asked)) return [];
    const known = facts?.claims.get(claimName(asked.claim)) ?? null;
    return { policyId, condition, entityId: asked.claim.entityId, ids: known?.map(({ id }) => id) ?? null };
  });
  return { ...(earlier.length > 0 && { earlier }), ...(claims.length > 0 && { claims }) };
}
