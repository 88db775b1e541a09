import { conflict, type DomainError } from '../../core/errors/domain-error';
import type { Dialect } from '../../ledger/database/dialect';
import { IS_RECENT } from '../executions/execution-conditions';
import { MAX_ACTIONS_OF_CONDITION, MAX_ACTIONS_OF_QUESTION } from '../policies/evaluation/fact-bounds';

/**
 * Most keys with a time in one statement: for each of them, the statement may look for executions of as many actions as
 * a key allows.
 */
export const MAX_TIMED_KEYS = 10;
/** Stands for the id of an execution if the agent has used more actions than the pattern is compared with. */
export const TOO_MANY_ACTIONS = '';

const KEY_COLUMNS = ['since', 'agentId', 'from', 'to', 'resourceKey', 'besides'];
/** Position in a key of the number of actions with which its pattern may be compared. */
export const MAX_ACTIONS_POSITION = KEY_COLUMNS.length + 1;

/**
 * Finds the authorised actions of an agent since a time. Most executions are authorised when they are created, so the
 * newest one of each action suffices. One that people approved may be older; the sequence of its resume finds it.
 * @param upTo last entry that counts; absent if all do
 * @param authorised condition for executions that were authorised up to that entry
 */
export function recentSql(dialect: Dialect, upTo?: string, authorised = ''): string {
  const [since, agentId, from, to, resourceKey, excludedId] = KEY_COLUMNS.map((name, index) =>
    dialect.jsonAt(index + 1, { name, type: 'text' }),
  );
  const maxActions = dialect.jsonAt(MAX_ACTIONS_POSITION, { name: 'maxActions', type: 'integer' });
  const first = `(SELECT "sequence" FROM "ledger_entries" WHERE "timestamp" >= ${since} ORDER BY "timestamp", "sequence" LIMIT 1)`;
  // Each step finds the next action, and looks for an execution of the previous one; the first execution found ends the
  // steps.
  const authorisedId = (resource: string): string => {
    const own = `FROM "executions" WHERE "agentId" = ${agentId} ${resource} AND ${IS_RECENT}`;
    const next = (after: string): string =>
      `(SELECT "action" ${own} AND ${after} AND "action" <= ${to} ORDER BY "action" LIMIT 1)`;
    const newest =
      `(SELECT "id" ${own} AND "action" = names."name" AND "createdSequence" >= names."first" AND "id" <> ${excludedId} ${authorised} ` +
      `ORDER BY "createdSequence" DESC LIMIT 1)`;
    const newestResumed =
      `(SELECT "id" ${own} AND "action" = names."name" AND "resumedSequence" >= names."first" AND "id" <> ${excludedId} ` +
      `${upTo === undefined ? '' : `AND "resumedSequence" <= ${upTo} `}ORDER BY "resumedSequence" DESC LIMIT 1)`;
    // A null with the type and the collation of an id.
    const none = '(SELECT "id" FROM "executions" LIMIT 0)';
    return (
      `(WITH RECURSIVE names("name", "rank", "first", "id") AS (` +
      `SELECT ${next(`"action" >= ${from}`)}, 1, ${first}, ${none} UNION ALL ` +
      `SELECT ${next('"action" > names."name"')}, names."rank" + 1, names."first", COALESCE(${newest}, ${newestResumed}) FROM names ` +
      `WHERE names."name" IS NOT NULL AND names."id" IS NULL AND names."rank" <= ${maxActions}) ` +
      `SELECT max(CASE WHEN "id" IS NULL AND "name" IS NOT NULL AND "rank" > ${maxActions} THEN '${TOO_MANY_ACTIONS}' ELSE "id" END) FROM names)`
    );
  };
  // Without this hint, the database would look for the next action among those on all resources.
  const same = dialect.unlikely(`"resourceKey" = ${resourceKey}`);
  return (
    `SELECT ${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place", ` +
    `CASE WHEN ${resourceKey} IS NULL THEN ${authorisedId('')} ELSE ${authorisedId(`AND ${same}`)} END AS "id" ` +
    `FROM ${dialect.jsonElements('$1')}`
  );
}

export function tooManyActions(): DomainError {
  return conflict(
    `A condition on what the agent did within a time compares its pattern with at most ${MAX_ACTIONS_OF_CONDITION} actions, and all of ` +
      `them together with ${MAX_ACTIONS_OF_QUESTION}. The agent has used more that begin alike: expected a longer pattern, or an exact action.`,
  );
}
