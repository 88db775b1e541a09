import { Injectable } from '@nestjs/common';
import { parsedDecimal } from '../../core/values/decimal';
import { groupBy } from '../../core/values/grouped';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { RecordHistory } from '../../ledger/record-history';
import { type RunRowQueries, runRowQueries, type RowQuery } from '../../ledger/records/row-query';
import { sumQuery, type SumKey, sumName } from '../../ledger/records/sum-key';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { CLAIM } from '../entities/claim.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { WAS_AUTHORISED } from '../executions/execution-conditions';
import { type DecisionBasis, EXECUTION, USING_ACTIONS } from '../executions/execution.entity';
import { type ClaimKey, claimName, type EarlierKey, earlierName } from '../policies/conditions/condition';
import type { FactQuery, Facts } from '../policies/evaluation/evaluation';
import {
  type ClaimFacts,
  claimFactsOf,
  type ClaimRow,
  claimsSql,
  MAX_CLAIM_KEYS,
  pastClaims,
  pastClaimsSql,
} from './claim-facts';
import { MAX_ACTIONS_POSITION, MAX_TIMED_KEYS, recentSql, TOO_MANY_ACTIONS, tooManyActions } from './recent-executions';
import { MAX_ACTIONS_OF_CONDITION } from '../policies/evaluation/fact-bounds';
import type { FactQueries } from '../policies/evaluation/policy-evaluator';

/** Upper bound of a prefix search: sorts after every action, which has at most this many characters. */
const AFTER_ALL = '\u{10ffff}'.repeat(100);
const EARLIER_COLUMNS = ['run', 'agentId', 'from', 'to', 'resourceKey', 'besides'];
const ACTIONS = USING_ACTIONS.map((action) => `'${action}'`).join(', ');

/** Source of facts: the present, a command, or the past. Each member returns the results in the order of the keys. */
export interface FactSource {
  /** Returns the values of sums. Absent if no limit counts as reached. */
  readonly sums?: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>;
  /** Returns the ids of executions that were authorised before, with any later outcome; null for a key without one. */
  readonly earlier: (keys: readonly EarlierKey[]) => Promise<readonly (string | null)[]>;
  /** Returns claims; null for a key about which nothing is known. */
  readonly claims: (keys: readonly ClaimKey[]) => Promise<readonly ClaimFacts[]>;
}

/** Reads the facts that conditions need in addition to the request. */
@Injectable()
export class FactReader {
  private readonly earlierNow: string;
  private readonly earlierThen: string;
  private readonly recentNow: string;
  private readonly recentThen: string;
  private readonly claimsNow: string;
  private readonly claimsThen: string;

  constructor(
    private readonly counters: CounterReader,
    private readonly past: RecordHistory,
    private readonly database: Database,
  ) {
    const { dialect } = database;
    this.earlierNow = earlierSql(dialect, '');
    this.earlierThen = earlierSql(dialect, authorisedBy(dialect));
    this.recentNow = recentSql(dialect);
    this.recentThen = recentSql(dialect, upToIn(dialect), authorisedBy(dialect));
    this.claimsNow = claimsSql(dialect);
    this.claimsThen = pastClaimsSql(dialect);
  }

  /** @param upTo sequence of an entry, for a past without reached limits; undefined for now */
  sourceAt(upTo?: number): FactSource {
    const read: RunRowQueries = (queries) => runRowQueries(this.database.points, queries);
    if (upTo === undefined) return { sums: (keys) => this.counters.sums(keys), ...this.readBy(read) };
    return {
      earlier: (keys) => earlierIds(keys, read, (key) => this.earlierThenQuery(key, upTo)),
      claims: (keys) => this.pastClaims(keys, upTo),
    };
  }

  /**
   * Returns the source in a command.
   * @param except.excludedId id of an execution that does not count as earlier
   * @param except.limitsAside true if no limit counts as reached
   */
  within(
    transaction: Pick<ServiceTransaction, 'readSums' | 'runQueries'>,
    { excludedId, limitsAside }: { readonly excludedId: string | undefined; readonly limitsAside: boolean },
  ): FactSource {
    const read: RunRowQueries = (queries) => transaction.runQueries(queries);
    return { ...(!limitsAside && { sums: (keys) => transaction.readSums(keys) }), ...this.readBy(read, excludedId) };
  }

  /** Returns the queries that these facts need in a command. */
  rowQueries({ uses, facts }: FactQueries): RowQuery[] {
    const sums = uses.map(({ sum }) => sumQuery(this.database.dialect, sum));
    const others = facts.map((fact) =>
      'earlier' in fact ? this.earlierQuery(fact.earlier) : this.claimsQuery(fact.claim),
    );
    return [...sums, ...others];
  }

  private readBy(read: RunRowQueries, excludedId?: string): Pick<FactSource, 'earlier' | 'claims'> {
    return {
      earlier: (keys) => earlierIds(keys, read, (key) => this.earlierQuery(key, excludedId)),
      claims: (keys) => this.claims(keys, read),
    };
  }

  /** Returns claims. Each statement reads so few keys that other reads are served in between. */
  private async claims(keys: readonly ClaimKey[], read: RunRowQueries): Promise<ClaimFacts[]> {
    const claims: ClaimFacts[] = [];
    for (let start = 0; start < keys.length; start += MAX_CLAIM_KEYS) {
      const queries = keys.slice(start, start + MAX_CLAIM_KEYS).map((key) => this.claimsQuery(key));
      claims.push(...(await read<ClaimRow>(queries)).map(claimFactsOf));
    }
    return claims;
  }

  private earlierQuery(earlier: EarlierKey, excludedId = ''): RowQuery {
    const { run, since, agentId, action, resource, maxActions = MAX_ACTIONS_OF_CONDITION } = earlier;
    const from = action.endsWith('*') ? action.slice(0, -1) : action;
    const to = from === action ? action : from + AFTER_ALL;
    const key = [since ?? run, agentId, from, to, resource, excludedId, maxActions];
    return since === null
      ? { name: 'earlier', sql: this.earlierNow, key, dependsOn: [{ kind: EXECUTION, values: { run } }] }
      : { name: 'recent', sql: this.recentNow, key, dependsOn: [{ kind: EXECUTION, values: { agentId } }] };
  }

  private earlierThenQuery(earlier: EarlierKey, upTo: number): RowQuery {
    const query = this.earlierQuery(earlier);
    const sql = earlier.since === null ? this.earlierThen : this.recentThen;
    return { ...query, name: `${query.name} then`, sql, key: [...query.key, upTo] };
  }

  private claimsQuery({ entityId, predicate }: ClaimKey): RowQuery {
    const dependsOn = [
      { kind: ENTITY, values: { id: entityId } },
      { kind: CLAIM, values: { entityId } },
    ];
    return { name: 'claims', sql: this.claimsNow, key: [entityId, predicate], dependsOn };
  }

  /** Returns past claims, those of each entity at once. @param upTo sequence of an entry */
  private async pastClaims(keys: readonly ClaimKey[], upTo: number): Promise<ClaimFacts[]> {
    const claims = new Map<string, ReadonlyMap<string, ClaimFacts>>();
    for (const [entityId, own] of groupBy(keys, (key) => [key.entityId])) {
      if ((await this.past.findAfter(ENTITY, entityId, upTo)) === undefined) continue;
      const predicates = own.map(({ predicate }) => predicate);
      claims.set(entityId, await pastClaims(this.database.points, this.claimsThen, { entityId, predicates, upTo }));
    }
    return keys.map(({ entityId, predicate }) => claims.get(entityId)?.get(predicate) ?? null);
  }
}

/** Returns ids of executions. Each statement has so few keys with a time that other reads are served in between. */
async function earlierIds(
  keys: readonly EarlierKey[],
  read: RunRowQueries,
  queryOf: (key: EarlierKey) => RowQuery,
): Promise<(string | null)[]> {
  const ids: (string | null)[] = [];
  for (const statement of statementsOf(keys)) {
    ids.push(...firstIds(await read<{ readonly id: string | null }>(statement.map(queryOf))));
  }
  return ids;
}

function statementsOf(keys: readonly EarlierKey[]): EarlierKey[][] {
  const statements: EarlierKey[][] = [];
  let timed = 0;
  for (const key of keys) {
    if (key.since !== null) timed += 1;
    const place = Math.floor(Math.max(timed - 1, 0) / MAX_TIMED_KEYS);
    (statements[place] ??= []).push(key);
  }
  return statements;
}

function firstIds(rowLists: readonly (readonly { readonly id: string | null }[])[]): (string | null)[] {
  return rowLists.map(([first]) => {
    if (first?.id === TOO_MANY_ACTIONS) throw tooManyActions();
    return first?.id ?? null;
  });
}

/**
 * Returns a statement with one search for each form of the condition: each has an index that reads only what it looks
 * for.
 */
function earlierSql(dialect: Dialect, then: string): string {
  const [run, agentId, from, to, resourceKey, excludedId] = EARLIER_COLUMNS.map((name, index) =>
    dialect.jsonAt(index + 1, { name, type: 'text' }),
  );
  const first = (resource: string): string =>
    `(SELECT "id" FROM "executions" WHERE "run" = ${run} AND "agentId" = ${agentId} AND ${WAS_AUTHORISED} ${resource} ` +
    `AND "action" >= ${from} AND "action" <= ${to} AND "id" <> ${excludedId} ${then} LIMIT 1)`;
  return (
    `SELECT ${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place", CASE WHEN ${resourceKey} IS NULL THEN ${first('')} ` +
    `ELSE ${first(`AND "resourceKey" = ${resourceKey}`)} END AS "id" FROM ${dialect.jsonElements('$1')}`
  );
}

function upToIn(dialect: Dialect): string {
  return dialect.jsonAt(MAX_ACTIONS_POSITION + 1, { name: 'upTo', type: 'integer' });
}

/** SQL for executions that were authorised up to the entry at the end of a key. */
function authorisedBy(dialect: Dialect): string {
  const upTo = upToIn(dialect);
  return (
    `AND ${dialect.unindexed('"createdSequence"')} <= ${upTo} AND EXISTS (SELECT 1 FROM "ledger_entries" AS entry ` +
    `WHERE entry."subjectId" = "executions"."id" AND entry."action" IN (${ACTIONS}) AND entry."sequence" <= ${upTo})`
  );
}

/**
 * Gathers the facts that policies need in addition to the request, each kind in one statement. Undefined if they need
 * none, which is the usual case.
 */
export async function gatherFacts(queries: readonly FactQueries[], source: FactSource): Promise<Facts | undefined> {
  if (queries.every(({ uses, facts }) => uses.length === 0 && facts.length === 0)) return undefined;
  const keys = queries.flatMap(({ uses }) => uses.map(({ sum }) => sum));
  const facts = queries.flatMap((query) => query.facts);
  const earlier = facts.flatMap((fact) => ('earlier' in fact ? fact.earlier : []));
  const claims = facts.flatMap((fact) => ('claim' in fact ? fact.claim : []));
  const sums = source.sums && (await valuesByName(keys, sumName, source.sums));
  return {
    sums:
      sums && new Map([...sums].flatMap(([name, sum]) => (sum === null ? [] : [[name, parsedDecimal(sum)] as const]))),
    earlier: await valuesByName(earlier, earlierName, source.earlier),
    claims: await valuesByName(claims, claimName, source.claims),
  };
}

/** Maps the names of keys to the values that were read; each key is read once. */
async function valuesByName<Key, Value>(
  keys: readonly Key[],
  nameOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<readonly (Value | null | undefined)[]>,
): Promise<ReadonlyMap<string, Value | null>> {
  const keysByName = new Map(keys.map((key) => [nameOf(key), key]));
  const values = keysByName.size === 0 ? [] : await read([...keysByName.values()]);
  return new Map([...keysByName.keys()].map((name, index) => [name, values[index] ?? null]));
}

/** Returns the facts that conditions looked up, with their values, as entries record them. */
export function factDetails(
  queries: readonly FactQuery[],
  facts: Facts | undefined,
): Pick<DecisionBasis, 'earlier' | 'claims'> {
  const earlier = queries.flatMap(({ policyId, condition, ...query }) =>
    'earlier' in query
      ? { policyId, condition, executionId: facts?.earlier.get(earlierName(query.earlier)) ?? null }
      : [],
  );
  const claims = queries.flatMap(({ policyId, condition, ...query }) => {
    if (!('claim' in query)) return [];
    const claimFacts = facts?.claims.get(claimName(query.claim)) ?? null;
    return { policyId, condition, entityId: query.claim.entityId, ids: claimFacts?.map(({ id }) => id) ?? null };
  });
  return { ...(earlier.length > 0 && { earlier }), ...(claims.length > 0 && { claims }) };
}
