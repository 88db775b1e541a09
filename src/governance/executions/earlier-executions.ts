import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import type { EarlierKey } from '../policies/conditions/facts';
import { USING_ACTIONS, WAS_AUTHORISED } from './execution.entity';

/** Sorts behind everything that begins alike: an action has at most this many characters. */
const BEHIND = '\u{10ffff}'.repeat(100);
const COLUMNS = ['run', 'agentId', 'from', 'to', 'resourceKey', 'besides'];
const ACTIONS = USING_ACTIONS.map((action) => `'${action}'`).join(', ');

/** Finds what agents were authorised to do before in a run, whatever became of it. */
@Injectable()
export class EarlierExecutions {
  private readonly now: string;
  private readonly then: string;

  /** @internal */
  constructor(private readonly database: Database) {
    this.now = earlierSql(database.dialect, '');
    this.then = earlierSql(database.dialect, authorisedBy(database.dialect));
  }

  /** An id for each key, in this order; null where there is none. @param upTo the sequence of an entry; undefined: now. */
  find(keys: readonly EarlierKey[], upTo?: number): Promise<readonly (string | null)[]> {
    const { points } = this.database;
    return upTo === undefined ? found(points, this.now, keys) : found(points, this.then, keys, '', [upTo]);
  }

  /** The same inside a command. @param besides the id of an execution that is none of them. */
  findIn(
    transaction: Pick<LedgerTransaction, 'all'>,
    keys: readonly EarlierKey[],
    besides?: string,
  ): Promise<readonly (string | null)[]> {
    return found(transaction, this.now, keys, besides);
  }
}

async function found(
  reader: Pick<LedgerTransaction, 'all'>,
  sql: string,
  keys: readonly EarlierKey[],
  besides = '',
  more: readonly number[] = [],
): Promise<readonly (string | null)[]> {
  const asked = keys.map(({ run, agentId, action, resource }, index) => {
    const from = action.endsWith('*') ? action.slice(0, -1) : action;
    const to = from === action ? action : from + BEHIND;
    return [index, run, agentId, from, to, resource, besides];
  });
  const rows = await reader.all<{ place: number; id: string | null }>(sql, [JSON.stringify(asked), ...more]);
  const ids = new Map(rows.map(({ place, id }) => [place, id]));
  return keys.map((_, index) => ids.get(index) ?? null);
}

/** Each way of asking has its own statement, so that it uses the index as far as it can. */
function earlierSql(dialect: Dialect, then: string): string {
  const [run, agentId, from, to, resourceKey, besides] = COLUMNS.map((name, index) =>
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

/** Whether it was authorised up to the entry `$2`. */
function authorisedBy(dialect: Dialect): string {
  return (
    `AND ${dialect.unindexed('"createdSequence"')} <= $2 AND EXISTS (SELECT 1 FROM "ledger_entries" AS entry ` +
    `WHERE entry."subjectId" = "executions"."id" AND entry."action" IN (${ACTIONS}) AND entry."sequence" <= $2)`
  );
}
