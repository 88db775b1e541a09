import { Injectable } from '@nestjs/common';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { AskedRows, RowsAsked } from '../../ledger/records/rows-asked';
import type { EarlierKey } from '../policies/conditions/condition';
import { EXECUTION, USING_ACTIONS, WAS_AUTHORISED } from './execution.entity';

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
  constructor({ dialect }: Database) {
    this.now = earlierSql(dialect, '');
    this.then = earlierSql(dialect, authorisedBy(dialect));
  }

  /**
   * An id for each key, in this order; null where there is none.
   * @param besides the id of an execution to leave out.
   * @param upTo the sequence of an entry; undefined: now.
   */
  async find(
    read: AskedRows,
    keys: readonly EarlierKey[],
    { besides, upTo }: { readonly besides?: string | undefined; readonly upTo?: number } = {},
  ): Promise<readonly (string | null)[]> {
    const found = await read<{ readonly id: string | null }>(keys.map((key) => this.asked(key, besides, upTo)));
    return found.map(([first]) => first?.id ?? null);
  }

  asked({ run, agentId, action, resource }: EarlierKey, besides = '', upTo?: number): RowsAsked {
    const from = action.endsWith('*') ? action.slice(0, -1) : action;
    const to = from === action ? action : from + BEHIND;
    const key = [run, agentId, from, to, resource, besides];
    const dependsOn = [{ kind: EXECUTION, values: { run } }];
    if (upTo === undefined) return { name: 'earlier', sql: this.now, key, dependsOn };
    return { name: 'earlier then', sql: this.then, key: [...key, upTo], dependsOn };
  }
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

/** Whether it was authorised up to the entry that comes last in a key. */
function authorisedBy(dialect: Dialect): string {
  const upTo = dialect.jsonAt(COLUMNS.length + 1, { name: 'upTo', type: 'integer' });
  return (
    `AND ${dialect.unindexed('"createdSequence"')} <= ${upTo} AND EXISTS (SELECT 1 FROM "ledger_entries" AS entry ` +
    `WHERE entry."subjectId" = "executions"."id" AND entry."action" IN (${ACTIONS}) AND entry."sequence" <= ${upTo})`
  );
}
