import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SYSTEM_CALLER } from '../ledger/caller';
import { LedgerService } from '../ledger/ledger.service';
import { byId } from '../ledger/lookup';
import { RecordReader } from '../ledger/record-reader';
import { expiredNote } from './decision-notes';
import { expired, isExpired } from './decision-rules';
import { DECISION } from './decision.kind';

/** Milliseconds between looks on average: a decision is settled within a second of its expiry. */
const INTERVAL = 200;
/** Decisions that are settled together at most; fewer where they are large. */
const PIECE = 100;

/** Settles decisions whose time is over, so that they do not merely look expired to who reads them. */
@Injectable()
export class DecisionExpiryService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Decisions');
  private timer: NodeJS.Timeout | null = null;
  private sweep: Promise<void> | null = null;
  private isStopping = false;

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  onApplicationBootstrap(): void {
    this.lookLater();
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.sweep;
  }

  /** Out of step with other processes: one of them finds first what is due, and the others find it settled. */
  private lookLater(): void {
    this.timer = setTimeout(() => this.look(), INTERVAL * (0.5 + Math.random())).unref();
  }

  private look(): void {
    this.sweep = this.settleAll()
      .catch((error: unknown) => this.logger.error(`Expired decisions are not settled yet: ${String(error)}`))
      .finally(() => {
        if (!this.isStopping) this.lookLater();
      });
  }

  /** Piece after piece, so that a crowd that expires at one moment does not wait for later looks. */
  private async settleAll(): Promise<void> {
    const { now, isHealthy } = this.ledger;
    if (!isHealthy) return;
    for await (const ids of this.reader.due(DECISION, now, PIECE)) {
      await Promise.all(ids.map((id) => this.settle(id)));
      if (this.isStopping) return;
    }
  }

  private settle(id: string): Promise<void> {
    return this.ledger.expecting(byId(DECISION, id)).write(SYSTEM_CALLER, async (transaction) => {
      const decision = await transaction.find(DECISION, id);
      // A review may have come first.
      if (decision === undefined || !isExpired(decision, transaction.now)) return;
      transaction.update(DECISION, expired(decision, transaction.now), expiredNote(decision));
    });
  }
}
