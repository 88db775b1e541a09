import type { SqlSessions, SqlValue } from '../../../src/ledger/database/sql-connection';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/**
 * The server's plan for the statement in this session.
 * @param options.isRun true to run the statement: the plan of what a recursive query selects in each step is only shown
 *   then
 */
export async function planIn(
  session: SqlSessions,
  sql: string,
  parameters: readonly SqlValue[] = [],
  { isRun = false } = {},
): Promise<PlanNode> {
  const explain = `EXPLAIN (ANALYZE ${isRun}, FORMAT JSON) ${sql}`;
  const [row] = await session.all<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explain, parameters);
  if (row === undefined) throw new Error('The server returned no plan.');
  return row['QUERY PLAN'][0].Plan;
}

/** The node and all nodes below it. */
export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
