import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Database } from './database/database';
import { LedgerService } from './ledger.service';
import { CounterReader } from './reading/counter-reader';

/** Milliseconds between checks of the head that this process knows. */
const INTERVAL = 50;
/** One in this many checks asks the database what other processes have written. */
const POLLS_PER_QUERY = 8;

/** Reports when the ledger has grown, whichever process wrote. It polls only while somebody listens. */
@Injectable()
export class LedgerTail implements OnModuleDestroy {
  private readonly logger = new Logger(LedgerTail.name);
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | null = null;
  private seen = 0;
  private polls = 0;

  constructor(
    private readonly ledger: LedgerService,
    private readonly counters: CounterReader,
    private readonly database: Database,
  ) {}

  /** Calls back whenever entries were added. Returns a function that ends the subscription. */
  onGrowth(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.timer === null) {
      this.seen = this.ledger.head.sequence;
      this.timer = setInterval(() => void this.poll(), INTERVAL).unref();
    }
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  }

  onModuleDestroy(): void {
    this.stop();
  }

  private stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private async poll(): Promise<void> {
    this.polls += 1;
    const isQuery = this.database.isShared && this.polls % POLLS_PER_QUERY === 0;
    const sequence = isQuery ? await this.headOfAll() : this.ledger.head.sequence;
    if (sequence <= this.seen) return;
    this.seen = sequence;
    for (const listener of [...this.listeners]) listener();
  }

  /** While the database is unreachable nothing is reported; the next check asks again. */
  private async headOfAll(): Promise<number> {
    try {
      return await this.counters.headSequence();
    } catch (error) {
      this.logger.debug(`The head of the ledger cannot be read: ${String(error)}`);
      return this.seen;
    }
  }
}
