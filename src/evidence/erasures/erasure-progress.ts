import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { SYSTEM_CALLER } from '../../ledger/caller';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import { IS_ABOUT_GONE } from '../../ledger/writing/leftover-statements';
import { ErasedIds } from './erased-ids';
import { type ErasedCounts, ERASURE } from './erasure.entity';

/** Average milliseconds between looks for erasures under way, whichever process began them. */
const INTERVAL = 500;
/**
 * Most entries that an erasure adds after its own: for each of 100 subjects, the erasures of an execution, its decision and its
 * grant, and the end of that grant.
 */
const MOST_OWN_ENTRIES = 400;

const SELECT_UNDER_WAY = `SELECT "id", "createdSequence" FROM "erasures" WHERE "completedAt" IS NULL ORDER BY "createdSequence"`;
const SELECT_LEFT = `SELECT count(*) AS "count" FROM "ledger_leftovers" WHERE "subjectType" LIKE 'erased %'`;
/** Counts the records that an erasure took, and the emptied entries about these and about the claims of entities. */
const COUNT =
  `SELECT count(DISTINCT gone."sequence") AS "records", count(entry."sequence") AS "entries", ` +
  `count(CASE WHEN entry."v" = 1 THEN 1 END) AS "unsalted" FROM "ledger_entries" AS gone ` +
  `LEFT JOIN "ledger_entries" AS entry ON entry."erased" = gone."sequence" AND ${IS_ABOUT_GONE} ` +
  `WHERE gone."sequence" > $1 AND gone."sequence" <= $1 + ${MOST_OWN_ENTRIES} ` +
  `AND gone."action" LIKE '%.erased' AND gone."details" LIKE $2`;

interface UnderWay {
  readonly id: string;
  readonly createdSequence: number;
}

/** Completes erasures once no entry holds anything of them, and their ids are kept. */
@Injectable()
export class ErasureProgress implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Erasures');
  private readonly repeated = new PeriodicTask(
    INTERVAL,
    () => this.look(),
    (error) => this.logger.error(`Erasures are not completed yet: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly ids: ErasedIds,
  ) {}

  onApplicationBootstrap(): void {
    this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  private async look(): Promise<void> {
    if (!this.ledger.isHealthy) return;
    // Read before the leftovers, which are written in the commit of their erasure: none of an erasure found here is overlooked.
    const underWay = await this.database.points.all<UnderWay>(SELECT_UNDER_WAY);
    const [left] = await this.database.points.all<{ count: number }>(SELECT_LEFT);
    const isDeleting = Number(left?.count) > 0;
    // The process that began it may have ended.
    if (isDeleting) this.ledger.deleteLeftovers();
    // Also the ids whose request failed to keep them, or whose process ended before it could.
    await this.ids.keepNew();
    if (isDeleting) return;
    for (const erasure of underWay) await this.complete(erasure);
  }

  private async complete(underWay: UnderWay): Promise<void> {
    const counts = await this.counts(underWay);
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const erasure = await transaction.find(ERASURE, underWay.id);
      // Another process may have been first.
      if (erasure === undefined || erasure.completedAt !== null) return;
      const note = { action: 'erasure.completed', details: { ...counts } };
      transaction.update(ERASURE, { ...erasure, ...counts, completedAt: transaction.now }, note);
    });
  }

  private async counts({ id, createdSequence }: UnderWay): Promise<ErasedCounts> {
    const [counts] = await this.database.points.all<ErasedCounts>(COUNT, [createdSequence, `%"${id}"%`]);
    if (counts === undefined) throw new Error('An aggregate query returned no row.');
    return counts;
  }
}
