import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { SYSTEM_CALLER } from '../../../ledger/caller';
import { Database } from '../../../ledger/database/database';
import { LedgerService } from '../../../ledger/ledger.service';
import { CounterReader } from '../../../ledger/reading/counter-reader';
import { ledgerSql } from '../../../ledger/writing/ledger-sql';
import { takenAmounts, UsedSums } from './recorded-uses';

const ANY_SUM = `SELECT "sum" FROM "ledger_sums" LIMIT 1`;
const ANY_LIMITED = `SELECT "id" FROM "policies" WHERE "limits" <> '[]' LIMIT 1`;
const ANY_GRANTED = `SELECT "id" FROM "executions" WHERE "grantId" IS NOT NULL LIMIT 1`;
const COUNT_SUMS = `SELECT count(*) AS "found" FROM "ledger_sums"`;

/** Adds up what was used of limits and grants, at a start that misses the sums. */
@Injectable()
export class MissingSums implements OnApplicationBootstrap {
  private readonly logger = new Logger('Policies');

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly counters: CounterReader,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (!(await this.areMissing())) return;
    const sums = new UsedSums();
    const head = await this.counters.headSequence();
    await this.addUp(sums, { after: 0, upTo: head });
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      // Another process may have written them meanwhile; what it has authorised since the head was read is added.
      if (!(await this.areMissing())) return;
      await this.addUp(sums, { after: head, upTo: Number.MAX_SAFE_INTEGER });
      const { rows } = sums;
      if (rows.length === 0) return;
      const proof = { sql: COUNT_SUMS, parameters: [] };
      const { keepSums } = ledgerSql(this.database.dialect);
      transaction.writeAside({ sql: keepSums, parameters: [JSON.stringify(rows)], proof });
      transaction.afterCommit(() =>
        this.logger.warn(`${rows.length} sums of what was used were missing, and are added up anew.`),
      );
    });
  }

  private async areMissing(): Promise<boolean> {
    const { points } = this.database;
    if ((await points.all(ANY_SUM)).length > 0) return false;
    return (await points.all(ANY_LIMITED)).length > 0 || (await points.all(ANY_GRANTED)).length > 0;
  }

  private async addUp(sums: UsedSums, { after, upTo }: { after: number; upTo: number }): Promise<void> {
    for await (const taken of takenAmounts(this.database.points, { after, upTo }))
      for (const one of taken) sums.add(one);
  }
}
