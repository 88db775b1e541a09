import { ApiProperty } from '@nestjs/swagger';
import { ApiMember } from '../../http/openapi/response-members';
import type { PageQuery } from '../../http/lists/list.query';
import { ZERO, decimalOf, decimalText } from '../../core/values/decimal';
import type { SqlSessions, SqlValue } from '../../ledger/database/sql-connection';
import type { Policy } from './policy.entity';
import { type PolicyLimit, sumOfLimit } from './limits/limit';
import { NO_WINDOW, windowsAt } from './limits/limit-window';

/** The used part of a limit in its current window; amounts are text. */
export class UsedLimitResponse {
  @ApiMember('The index of the limit.', { type: 'integer', example: 0 })
  readonly limit!: number;

  @ApiMember('The agent, or with `by: "request"` a digest of the request; null if all agents count together.', {
    type: 'string',
    nullable: true,
    example: null,
  })
  readonly key!: string | null;

  @ApiProperty({ example: '250.5' })
  readonly used!: string;

  @ApiProperty({ example: '1000' })
  readonly max!: string;

  @ApiMember('When the next window begins.', { format: 'date-time', example: '2026-11-21T00:00:00.000Z' })
  readonly resetsAt!: string;
}

export class UsageResponse {
  @ApiProperty({ type: [UsedLimitResponse] })
  readonly data!: readonly UsedLimitResponse[];

  @ApiMember('Number of rows of the whole list, not only of this page.', { type: 'integer', minimum: 0, example: 1 })
  readonly total!: number;
}

interface UsageView {
  /** ISO 8601. */
  readonly now: string;
  /** Team whose agents alone are listed, together with the sums of all agents; null for all agents. */
  readonly team: string | null;
}

/** Returns the used limits of a policy at a time, fullest first. */
export async function usageOf(
  connection: Pick<SqlSessions, 'all'>,
  { name, limits }: Pick<Policy, 'name' | 'limits'>,
  { now, team }: UsageView,
  { limit: most = 50, offset = 0 }: PageQuery,
): Promise<UsageResponse> {
  if (limits.length === 0) return { data: [], total: 0 };
  const windowOf = windowsAt(now);
  const windows = limits.map((limit) => windowOf(limit) ?? NO_WINDOW);
  const parameters = limits.flatMap((limit, index) => [sumOfLimit(name, limit), windows[index]?.start ?? '']);
  const isOfTeam = team === null ? '' : ` AND ${ofTeamSql(`$${parameters.push(team)}`)}`;
  const used = limits.map((limit, index) => usedSql(limit, index) + isOfTeam).join(' UNION ALL ');
  const page = `SELECT * FROM (${used}) AS used ORDER BY "share" DESC, "limit", "key" LIMIT ${most} OFFSET ${offset}`;
  const [rows, [counted]] = await Promise.all([
    connection.all<{ limit: number; key: string; used: string }>(page, parameters),
    connection.all<{ count: SqlValue }>(`SELECT count(*) AS "count" FROM (${used}) AS used`, parameters),
  ]);
  const data = rows.map(({ limit, key, used: amount }) => ({
    limit,
    key: key === '' ? null : key,
    used: amount,
    max: decimalText(decimalOf(limits[limit]?.max) ?? ZERO),
    resetsAt: windows[limit]?.end ?? '',
  }));
  return { data, total: Number(counted?.count ?? 0) };
}

/** SQL for sums that a team may see. Keys are ids of agents, or digests of requests, which nobody can attribute. */
function ofTeamSql(team: string): string {
  return `("key" = '' OR "key" IN (SELECT "id" FROM "agents" WHERE "team" = ${team}))`;
}

/**
 * SQL for the used sums of a limit. The share serves only to order them, so it need not be exact: rounding affects only
 * nearly equal shares.
 */
function usedSql({ max }: PolicyLimit, index: number): string {
  const share = max > 0 ? `CAST("value" AS double precision) / ${max}` : '1';
  const [sum, window] = [`$${index * 2 + 1}`, `$${index * 2 + 2}`];
  return (
    `SELECT ${index} AS "limit", "key", "value" AS "used", ${share} AS "share" FROM "ledger_sums" ` +
    `WHERE "sum" = ${sum} AND "window" = ${window} AND "value" <> '0'`
  );
}
