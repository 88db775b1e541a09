import type { SqlConnection, SqlValue } from '../../../src/database/sql-connection';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The plan that the server makes for the statement in this session. */
export async function planIn(
  session: SqlConnection,
  sql: string,
  parameters: readonly SqlValue[] = [],
): Promise<PlanNode> {
  const [row] = await session.all<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(`EXPLAIN (FORMAT JSON) ${sql}`, parameters);
  if (row === undefined) throw new Error('The server returned no plan.');
  return row['QUERY PLAN'][0].Plan;
}

/** The node and all below it. */
export function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
