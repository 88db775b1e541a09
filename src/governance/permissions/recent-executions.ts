import { conflict, type DomainError } from '../../core/errors/domain-error';
import type { Dialect } from '../../ledger/database/dialect';
import { IS_RECENT } from '../executions/execution.entity';

/** Most actions of an agent that one pattern is compared with. */
const MAX_ACTIONS = 1_000;
/** Most keys with a time in one statement, which may look for executions of that many actions for each. */
export const MAX_TIMED_KEYS = 10;
/** Result in place of an id if the agent has used more actions. */
export const TOO_MANY_ACTIONS = '';

const KEY_COLUMNS = ['since', 'agentId', 'from', 'to', 'resourceKey', 'besides'];

/**
 * Finds the authorised actions of an agent since a time. Most executions are authorised when they are created, so the
 * newest one of each action suffices. One that people approved may be older; it is found by the entry of its resume.
 * @param upTo last entry that counts; absent if all do
 * @param authorised condition for executions that were authorised up to that entry
 */
export function recentSql(dialect: Dialect, upTo?: string, authorised = ''): string {
  const [since, agentId, from, to, resourceKey, excludedId] = KEY_COLUMNS.map((name, index) =>
    dialect.jsonAt(index + 1, { name, type: 'text' }),
  );
  const first = `(SELECT "sequence" FROM "ledger_entries" WHERE "timestamp" >= ${since} ORDER BY "timestamp", "sequence" LIMIT 1)`;
  const created = (resource: string): string => {
    const own = `FROM "executions" WHERE "agentId" = ${agentId} ${resource} AND ${IS_RECENT}`;
    const next = (after: string): string =>
      `(SELECT "action" ${own} AND ${after} AND "action" <= ${to} ORDER BY "action" LIMIT 1)`;
    const newest =
      `(SELECT "id" ${own} AND "action" = names."name" AND "createdSequence" >= ${first} AND "id" <> ${excludedId} ${authorised} ` +
      `ORDER BY "createdSequence" DESC LIMIT 1)`;
    return (
      `(WITH RECURSIVE names("name", "rank") AS (SELECT ${next(`"action" >= ${from}`)}, 1 UNION ALL ` +
      `SELECT ${next('"action" > names."name"')}, names."rank" + 1 FROM names ` +
      `WHERE names."name" IS NOT NULL AND names."rank" <= ${MAX_ACTIONS}) ` +
      `SELECT newest."id" FROM (SELECT names."rank", CASE WHEN names."rank" > ${MAX_ACTIONS} THEN '${TOO_MANY_ACTIONS}' ` +
      `ELSE ${newest} END AS "id" FROM names WHERE names."name" IS NOT NULL) AS newest ` +
      `WHERE newest."id" IS NOT NULL ORDER BY newest."rank" LIMIT 1)`
    );
  };
  const resumed =
    `(SELECT resumed."id" FROM "ledger_entries" AS entry JOIN "executions" AS resumed ON resumed."id" = entry."subjectId" ` +
    `WHERE entry."agentId" = ${agentId} AND entry."action" = 'execution.resumed' AND entry."sequence" >= ${first} ` +
    `${upTo === undefined ? '' : `AND entry."sequence" <= ${upTo}`} AND resumed."erased" = 'false' ` +
    `AND resumed."action" >= ${from} AND resumed."action" <= ${to} AND resumed."id" <> ${excludedId} ` +
    `AND (${resourceKey} IS NULL OR resumed."resourceKey" = ${resourceKey}) LIMIT 1)`;
  // Otherwise the next action would be looked for among those of all resources.
  const same = dialect.unlikely(`"resourceKey" = ${resourceKey}`);
  return (
    `SELECT ${dialect.jsonAt(0, { name: 'place', type: 'integer' })} AS "place", COALESCE(${resumed}, ` +
    `CASE WHEN ${resourceKey} IS NULL THEN ${created('')} ELSE ${created(`AND ${same}`)} END) AS "id" ` +
    `FROM ${dialect.jsonElements('$1')}`
  );
}

export function tooManyActions(): DomainError {
  return conflict(
    `A condition on what the agent did within a time compares its pattern with at most ${MAX_ACTIONS} actions. ` +
      'The agent has used more that begin alike: expected a longer pattern, or an exact action.',
  );
}
