import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { parsedJson } from '../../../core/json/json-value';
import { PeriodicTask } from '../../../core/lifecycle/periodic-task';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { Database } from '../../../ledger/database/database';
import type { SqlSessions } from '../../../ledger/database/sql-connection';
import { LedgerService } from '../../../ledger/ledger.service';
import type { SumKey } from '../../../ledger/records/sum-key';
import { type PolicyLimit, sumOfLimit } from './limit';
import { type LimitPeriod, windowsAt } from './limit-window';

/** Average milliseconds between removals. */
const INTERVAL_MS = 3_600_000;
/** Milliseconds for which a sum stays after its window has ended, because clocks of replicas may differ. */
const RETENTION_MS = 3_600_000;
/** Most rows that one commit removes. */
const AT_ONCE = 1_000;
const SELECT_COUNTING = `SELECT "name", "limits" FROM "policies" WHERE "limits" LIKE '%"request"%'`;
const SELECT_HEAD_TIME = `SELECT "timestamp" FROM "ledger_head" WHERE "id" = 1`;
const SELECT_PASSED = `SELECT "key" FROM "ledger_sums" WHERE "sum" = $1 AND "window" < $2 LIMIT 1`;
const DELETE_PASSED =
  `DELETE FROM "ledger_sums" WHERE ("sum", "window", "key") IN ` +
  `(SELECT "sum", "window", "key" FROM "ledger_sums" WHERE "sum" = $1 AND "window" < $2 LIMIT ${AT_ONCE})`;

/** True if a sum counts equal requests in a past window: nobody needs it, and it may be removed. */
export function isPassedSum({ sum, window }: Pick<SumKey, 'sum' | 'window'>, now: string): boolean {
  if (!sum.includes('"request"')) return false;
  const parts = parsedJson(sum) as readonly [string, string, null, LimitPeriod, string, string?];
  const [, , , per, by, zone] = parts;
  if (by !== 'request') return false;
  const current = windowsAt(now)({ per, ...(zone !== undefined && { zone }) });
  return current !== null && window < current.start;
}

/** Returns the time by which windows end: that of the clock, or of the last entry if it is later. */
export async function ledgerTime(connection: Pick<SqlSessions, 'all'>): Promise<string> {
  const [head] = await connection.all<{ timestamp: string }>(SELECT_HEAD_TIME);
  const now = new Date(Date.now()).toISOString();
  return head !== undefined && head.timestamp > now ? head.timestamp : now;
}

/** Removes sums of equal requests after their windows, because each request has its own sum. */
@Injectable()
export class PassedSums implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Policies');
  private readonly task = new PeriodicTask(
    INTERVAL_MS,
    () => this.removePassed(),
    (error) => this.logger.error(`Sums of equal requests that are over are not removed yet: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {}

  onApplicationBootstrap(): void {
    this.task.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.task.stop();
  }

  /** Removes all passed sums, one chunk per commit. */
  async removePassed(): Promise<void> {
    const windowOf = windowsAt(new Date(Date.parse(this.ledger.now) - RETENTION_MS).toISOString());
    for (const [sum, limit] of await this.countingLimits()) {
      const current = windowOf(limit);
      if (current !== null) await this.removeBefore(sum, current.start);
    }
  }

  private async removeBefore(sum: string, start: string): Promise<void> {
    const parameters = [sum, start];
    while (!this.task.isStopping && (await this.database.points.all(SELECT_PASSED, parameters)).length > 0)
      await this.ledger.write(SYSTEM_CALLER, (transaction) => {
        transaction.writeWithoutEntry({ sql: DELETE_PASSED, parameters });
        return Promise.resolve();
      });
  }

  /** Maps sums to the limits by request of all policies, including those no longer in force. */
  private async countingLimits(): Promise<ReadonlyMap<string, PolicyLimit>> {
    const rows = await this.database.points.all<{ name: string; limits: string }>(SELECT_COUNTING);
    const limits = rows.flatMap(({ name, limits: text }) =>
      (parsedJson(text) as readonly PolicyLimit[]).map((limit) => [sumOfLimit(name, limit), limit] as const),
    );
    return new Map(limits.filter(([, { by }]) => by === 'request'));
  }
}
