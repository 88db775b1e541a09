import { Injectable } from '@nestjs/common';
import type { JsonScalar, JsonValue } from '../../core/json/json-value';
import { parsedDecimal } from '../../core/values/decimal';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { RecordHistory } from '../../ledger/record-history';
import { type RunRowQueries, runRowQueries, type RowQuery } from '../../ledger/records/row-query';
import { sumAsked, type SumKey, sumName } from '../../ledger/records/sum-key';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { type Claim, CLAIM, predicateKeyOf } from '../entities/claim.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { type DecisionBasis, EXECUTION, USING_ACTIONS, WAS_AUTHORISED } from '../executions/execution.entity';
import {
  type ClaimKey,
  claimName,
  type EarlierKey,
  earlierName,
  type ClaimFact,
} from '../policies/conditions/condition';
import type { FactQuery, Facts } from '../policies/evaluation/evaluation';
import { recentSql, TOO_MANY_ACTIONS, tooManyActions } from './recent-executions';
import type { FactQueries } from '../policies/evaluation/policy-evaluator';

/** Upper bound of a prefix search: sorts after every action, which has at most this many characters. */
const BEHIND = '\u{10ffff}'.repeat(100);
const EARLIER_COLUMNS = ['run', 'agentId', 'from', 'to', 'resourceKey', 'besides'];
const ACTIONS = USING_ACTIONS.map((action) => `'${action}'`).join(', ');
/** If a predicate has more claims, it counts as unknown. */
const MOST_CLAIMS = 100;
/** Most bytes of the JSON of a claim's value and of its context; with a longer one, what is claimed counts as unknown. */
const MAX_VALUE_BYTES = 1_000;
const MAX_CONTEXT_BYTES = 65_536;
/** Most bytes of a past claim that is no longer than that, its predicate and ids included. */
const MAX_STATE_BYTES = 80_000;
/** Most past claims that are read for those of one predicate. */
const MOST_PAST = 1_000;
const PAST_CLAIMS =
  `SELECT "subjectId" AS "id", CASE WHEN octet_length("state") <= ${MAX_STATE_BYTES} THEN "state" END AS "state" FROM "ledger_entries" AS added WHERE "entityId" = $1 AND "sequence" <= $2 ` +
  `AND "action" = 'claim.added' AND ("state" IS NULL OR "state" LIKE $3 OR octet_length("state") > length("state")) ` +
  `AND NOT EXISTS (SELECT 1 FROM "ledger_entries" AS removed WHERE removed."subjectId" = added."subjectId" ` +
  `AND removed."action" = 'claim.removed' AND removed."sequence" <= $2) ORDER BY "sequence" LIMIT ${MOST_PAST}`;

/** What is claimed, the oldest first; null if the entity does not exist, or there is too much. */
type ClaimFacts = readonly ClaimFact[] | null;

interface ClaimRow {
  readonly present: number | string;
  readonly count: number | string;
  readonly id: string | null;
  /** JSON; null if the value or the context is too long. */
  readonly value: string | null;
  /** JSON of that member of the context; null if there is none. */
  readonly confidence: string | null;
}

/** Where facts are read: now, inside a command, or as they were. Each returns what it finds for each key, in order. */
export interface FactSource {
  /** The values of sums. Absent: no limit is to count as reached. */
  readonly sums?: (keys: readonly SumKey[]) => Promise<readonly (string | undefined)[]>;
  /** The ids of executions that were authorised before, whatever became of them; null where there is none. */
  readonly earlier: (keys: readonly EarlierKey[]) => Promise<readonly (string | null)[]>;
  /** What is claimed; null where nothing is known. */
  readonly claims: (keys: readonly ClaimKey[]) => Promise<readonly ClaimFacts[]>;
}

/** Reads what conditions ask besides the request. */
@Injectable()
export class FactReader {
  private readonly earlierNow: string;
  private readonly earlierThen: string;
  private readonly recentNow: string;
  private readonly recentThen: string;
  private readonly claimsNow: string;

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
  }

  /** @param upTo the sequence of an entry, when no limit counts as reached; undefined: now. */
  sourceAt(upTo?: number): FactSource {
    const read: RunRowQueries = (asked) => runRowQueries(this.database.points, asked);
    if (upTo === undefined) return { sums: (keys) => this.counters.sums(keys), ...this.readBy(read) };
    return {
      earlier: async (keys) => firstIds(await read(keys.map((key) => this.askedThen(key, upTo)))),
      claims: (keys) => Promise.all(keys.map((key) => this.pastClaims(key, upTo))),
    };
  }

  /**
   * Inside a command.
   * @param except.besides id of an execution that does not count as earlier
   * @param except.limitsAside as if no limit had been reached
   */
  within(
    transaction: Pick<LedgerTransaction, 'readSums' | 'runQueries'>,
    { besides: excludedId, limitsAside }: { readonly besides: string | undefined; readonly limitsAside: boolean },
  ): FactSource {
    const read: RunRowQueries = (asked) => transaction.runQueries(asked);
    return { ...(!limitsAside && { sums: (keys) => transaction.readSums(keys) }), ...this.readBy(read, excludedId) };
  }

  /** The rows that these questions look for inside a command. */
  rowQueries({ uses, facts }: FactQueries): RowQuery[] {
    const sums = uses.map(({ sum }) => sumAsked(this.database.dialect, sum));
    const others = facts.map((fact) =>
      'earlier' in fact ? this.askedEarlier(fact.earlier) : this.askedClaims(fact.claim),
    );
    return [...sums, ...others];
  }

  private readBy(read: RunRowQueries, besides?: string): Pick<FactSource, 'earlier' | 'claims'> {
    return {
      earlier: async (keys) => firstIds(await read(keys.map((key) => this.askedEarlier(key, besides)))),
      claims: async (keys) => (await read<ClaimRow>(keys.map((key) => this.askedClaims(key)))).map(knownOf),
    };
  }

  private askedEarlier({ run, since, agentId, action, resource }: EarlierKey, besides = ''): RowQuery {
    const from = action.endsWith('*') ? action.slice(0, -1) : action;
    const to = from === action ? action : from + BEHIND;
    const key = [since ?? run, agentId, from, to, resource, besides];
    return since === null
      ? { name: 'earlier', sql: this.earlierNow, key, dependsOn: [{ kind: EXECUTION, values: { run } }] }
      : { name: 'recent', sql: this.recentNow, key, dependsOn: [{ kind: EXECUTION, values: { agentId } }] };
  }

  private askedThen(earlier: EarlierKey, upTo: number): RowQuery {
    const asked = this.askedEarlier(earlier);
    const sql = earlier.since === null ? this.earlierThen : this.recentThen;
    return { ...asked, name: `${asked.name} then`, sql, key: [...asked.key, upTo] };
  }

  private askedClaims({ entityId, predicate }: ClaimKey): RowQuery {
    const dependsOn = [
      { kind: ENTITY, values: { id: entityId } },
      { kind: CLAIM, values: { entityId } },
    ];
    return { name: 'claims', sql: this.claimsNow, key: [entityId, predicate], dependsOn };
  }

  /** What was claimed. @param upTo the sequence of an entry. */
  private async pastClaims({ entityId, predicate }: ClaimKey, upTo: number): Promise<ClaimFacts> {
    if ((await this.past.findAfter(ENTITY, entityId, upTo)) === undefined) return null;
    // Canonical JSON has a text in quotation marks as a member alone. A `_` stands for any character. In another spelling the
    // predicate has characters beyond ASCII.
    const member = `%"predicate":${JSON.stringify(predicate).replaceAll('\\', '_')}%`;
    const { points } = this.database;
    const rows = await points.all<{ id: string; state: string | null }>(PAST_CLAIMS, [entityId, upTo, member]);
    const claims: ClaimFact[] = [];
    for (const { id, state } of rows) {
      // It was erased, so nobody can tell what it said, or is too long.
      if (state === null) return null;
      const claim = JSON.parse(state) as Pick<Claim, 'predicate' | 'value' | 'context'>;
      if (predicateKeyOf(claim.predicate) !== predicate) continue;
      if (isTooLong(claim)) return null;
      claims.push(knownClaim(id, claim.value, claim.context['confidence']));
    }
    return rows.length === MOST_PAST || claims.length > MOST_CLAIMS ? null : claims;
  }
}

function firstIds(found: readonly (readonly { readonly id: string | null }[])[]): (string | null)[] {
  return found.map(([first]) => {
    if (first?.id === TOO_MANY_ACTIONS) throw tooManyActions();
    return first?.id ?? null;
  });
}

/** Each way of asking has its own statement, so that it uses the index as far as it can. */
function earlierSql(dialect: Dialect, then: string): string {
  const [run, agentId, from, to, resourceKey, besides] = EARLIER_COLUMNS.map((name, index) =>
    dialect.jsonAt(index + 1, { name, type: 'text' }),
  );
  const first = (conditions: string): string =>
    `(SELECT "id" FROM "executions" WHERE "run" = ${run} AND "agentId" = ${agentId} AND ${WAS_AUTHORISED} ` +
    `AND ${conditions} AND "id" <> ${besides} ${then} LIMIT 1)`;
  const actions = `"action" >= ${from} AND "action" <= ${to}`;
  const same = `"resourceKey" = ${resourceKey}`;
  return (
    `SELECT ${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place", CASE WHEN ${resourceKey} IS NULL THEN ${first(actions)} ` +
    `WHEN ${from} = ${to} THEN ${first(`"action" = ${from} AND ${same}`)} ELSE ${first(`${actions} AND ${same}`)} END AS "id" ` +
    `FROM ${dialect.jsonElements('$1')}`
  );
}

function upToIn(dialect: Dialect): string {
  return dialect.jsonAt(EARLIER_COLUMNS.length + 1, { name: 'upTo', type: 'integer' });
}

/** Whether it was authorised up to the entry that comes last in a key. */
function authorisedBy(dialect: Dialect): string {
  const upTo = upToIn(dialect);
  return (
    `AND ${dialect.unindexed('"createdSequence"')} <= ${upTo} AND EXISTS (SELECT 1 FROM "ledger_entries" AS entry ` +
    `WHERE entry."subjectId" = "executions"."id" AND entry."action" IN (${ACTIONS}) AND entry."sequence" <= ${upTo})`
  );
}

function knownOf(rows: readonly ClaimRow[]): ClaimFacts {
  const [first] = rows;
  if (first === undefined || Number(first.present) === 0 || Number(first.count) > MOST_CLAIMS) return null;
  const claims: ClaimFact[] = [];
  for (const { id, value, confidence } of rows) {
    if (id === null) continue;
    if (value === null) return null;
    claims.push(knownClaim(id, JSON.parse(value) as JsonScalar, confidence === null ? null : JSON.parse(confidence)));
  }
  return claims;
}

function knownClaim(id: string, value: JsonScalar, confidence: unknown): ClaimFact {
  return { id, value, confidence: typeof confidence === 'number' ? confidence : 0 };
}

function isTooLong({ value, context }: Pick<Claim, 'value' | 'context'>): boolean {
  const bytes = (json: JsonValue): number => Buffer.byteLength(JSON.stringify(json));
  return bytes(value) > MAX_VALUE_BYTES || bytes(context) > MAX_CONTEXT_BYTES;
}

function claimsSql(dialect: Dialect): string {
  const columns = ['entityId', 'predicateKey'].map(
    (name, index) => `${dialect.jsonAt(index + 1, { name, type: 'text' })} AS "${name}"`,
  );
  const place = `${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place"`;
  const items = `SELECT ${[place, ...columns].join(', ')} FROM ${dialect.jsonElements('$1')}`;
  const meets = (claim: string): string =>
    `${claim}."entityId" = key."entityId" AND ${claim}."predicateKey" = key."predicateKey"`;
  const few = `SELECT 1 FROM "claims" AS one WHERE ${meets('one')} LIMIT ${MOST_CLAIMS + 1}`;
  const counted =
    `SELECT key.*, (SELECT count(*) FROM "entities" WHERE "id" = key."entityId") AS "present", ` +
    `(SELECT count(*) FROM (${few}) AS few) AS "count" FROM (${items}) AS key`;
  const isShort = `octet_length(claim."value") <= ${MAX_VALUE_BYTES} AND octet_length(claim."context") <= ${MAX_CONTEXT_BYTES}`;
  const confidence = dialect.jsonMember('claim."context"', 'confidence');
  return (
    `SELECT key."place", key."present", key."count", claim."id", CASE WHEN ${isShort} THEN claim."value" END AS "value", ` +
    `CASE WHEN ${isShort} THEN ${confidence} END AS "confidence" FROM (${counted}) AS key ` +
    `LEFT JOIN "claims" AS claim ON ${meets('claim')} AND key."count" <= ${MOST_CLAIMS} ` +
    `ORDER BY key."place", claim."createdSequence"`
  );
}

/**
 * Gathers what policies ask besides the request, each kind in one statement. Undefined if they ask nothing, which is most
 * often so.
 */
export async function gatherFacts(asks: readonly FactQueries[], source: FactSource): Promise<Facts | undefined> {
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
export function factDetails(
  looked: readonly FactQuery[],
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
