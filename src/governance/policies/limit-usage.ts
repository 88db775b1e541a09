import { Injectable } from '@nestjs/common';
import { decimalOf, decimalText, ZERO } from '../../core/values/decimal';
import { Database } from '../../ledger/database/database';
import type { SqlValue } from '../../ledger/database/sql-connection';
import { LedgerService } from '../../ledger/ledger.service';
import type { UsageResponse } from './dto/usage';
import { type PolicyLimit, sumOfLimit } from './limits/limit';
import { windowAt } from './limits/limit-window';

interface UsedRow {
  readonly limit: number;
  readonly key: string;
  readonly used: string;
}

/** Reads what is used of the limits of a policy now. */
@Injectable()
export class LimitUsage {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerService,
  ) {}

  /** Those of which something is used, the fullest first. */
  async of(
    { name, limits }: { readonly name: string; readonly limits: readonly PolicyLimit[] },
    { limit: most, offset }: { readonly limit: number; readonly offset: number },
  ): Promise<UsageResponse> {
    if (limits.length === 0) return { data: [], total: 0 };
    const { now } = this.ledger;
    const windows = limits.map(({ per }) => windowAt(per, now));
    const parameters = limits.flatMap((limit, index) => [sumOfLimit(name, limit), windows[index]?.start ?? '']);
    const used = limits.map(usedSql).join(' UNION ALL ');
    const page = `SELECT * FROM (${used}) AS used ORDER BY "share" DESC, "limit", "key" LIMIT ${most} OFFSET ${offset}`;
    const { lists } = this.database;
    const [rows, [counted]] = await Promise.all([
      lists.all<UsedRow>(page, parameters),
      lists.all<{ count: SqlValue }>(`SELECT count(*) AS "count" FROM (${used}) AS used`, parameters),
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
}

/** The order needs no exact share: rounded, it differs only between those that are as good as equal. */
function usedSql({ max }: PolicyLimit, index: number): string {
  const share = max > 0 ? `CAST("value" AS double precision) / ${max}` : '1';
  const [sum, window] = [`$${index * 2 + 1}`, `$${index * 2 + 2}`];
  return (
    `SELECT ${index} AS "limit", "key", "value" AS "used", ${share} AS "share" FROM "ledger_sums" ` +
    `WHERE "sum" = ${sum} AND "window" = ${window} AND "value" <> '0'`
  );
}
