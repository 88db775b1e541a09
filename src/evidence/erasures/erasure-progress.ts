import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Database } from '../../ledger/database/database';
import { LedgerService } from '../../ledger/ledger.service';
import { ErasureReader } from '../../ledger/reading/erasure-reader';
import { ErasedIds } from './erased-ids';
import { ERASURE } from './erasure.entity';

/** Average milliseconds between checks for erasures under way, of any process. */
const INTERVAL_MS = 500;
/**
 * Most entries that an erasure adds after its own: for each of 100 subjects, the erasures of an execution, its decision
 * and its grant, and the end of that grant.
 */
const MAX_OWN_ENTRIES = 400;

const SELECT_UNDER_WAY = `SELECT "id", "createdSequence" FROM "erasures" WHERE "completedAt" IS NULL ORDER BY "createdSequence"`;

interface UnderWay {
  readonly id: string;
  readonly createdSequence: number;
}

/** Completes erasures once no entry holds their contents, and their ids are in the file. */
@Injectable()
export class ErasureProgress implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Erasures');
  private readonly repeated = new PeriodicTask(
    INTERVAL_MS,
    () => this.look(),
    (error) => this.logger.error(`Erasures are not completed yet: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
    private readonly erasures: ErasureReader,
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
    // Read before the leftovers, which are written in the commit of their erasure, so that none of an erasure found
    // here is missed.
    const underWay = await this.database.points.all<UnderWay>(SELECT_UNDER_WAY);
    const isDeleting = await this.erasures.isUnderWay();
    // The process that began it may have ended.
    if (isDeleting) this.ledger.deleteLeftovers();
    // This includes the ids whose request failed to store them, or whose process ended before.
    await this.ids.keepNew();
    if (isDeleting) return;
    for (const erasure of underWay) await this.complete(erasure);
  }

  private async complete({ id, createdSequence }: UnderWay): Promise<void> {
    const counts = await this.erasures.countEmptied(id, createdSequence, createdSequence + MAX_OWN_ENTRIES);
    await this.ledger.write(SYSTEM_CALLER, async (transaction) => {
      const erasure = await transaction.find(ERASURE, id);
      // Another process may have been first.
      if (erasure === undefined || erasure.completedAt !== null) return;
      const note = { action: 'erasure.completed', details: { ...counts } };
      transaction.update(ERASURE, { ...erasure, ...counts, completedAt: transaction.now }, note);
    });
  }
}
