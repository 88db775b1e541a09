import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SYSTEM_CALLER } from '../ledger/caller';
import { LedgerService } from '../ledger/ledger.service';
import { byId } from '../ledger/lookup';
import { Repeated } from '../shared/repeated';
import { API_KEY } from './api-key.kind';
import { KeyBook } from './key-book';
import { isDue, settleExpiry } from './key-expiry';

/** Average polling interval in milliseconds: a key is settled within a second of its expiry. */
const INTERVAL = 200;

/** Settles keys that have expired. They are rejected from their expiry on, settled or not. */
@Injectable()
export class KeyExpiryService implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('ApiKeys');
  private readonly repeated = new Repeated(
    INTERVAL,
    () => this.settleAll(),
    (error) => this.logger.error(`Expired keys are not settled yet: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly book: KeyBook,
  ) {}

  onApplicationBootstrap(): void {
    this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  private async settleAll(): Promise<void> {
    const { now, isHealthy } = this.ledger;
    if (!isHealthy) return;
    for (const id of this.book.due(now)) {
      if (this.repeated.isStopping) return;
      await this.settle(id);
    }
  }

  private settle(id: string): Promise<void> {
    return this.ledger.prefetching(byId(API_KEY, id)).write(SYSTEM_CALLER, async (transaction) => {
      const key = await transaction.find(API_KEY, id);
      if (key !== undefined && isDue(key, transaction.now)) settleExpiry(transaction, this.book, key);
    });
  }
}
