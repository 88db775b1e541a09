import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { LedgerService } from './ledger.service';

/** Milliseconds between checks of the head that this process knows. */
const INTERVAL = 50;

/** Reports when the ledger has grown, whichever process wrote. It polls only while somebody listens. */
@Injectable()
export class LedgerTail implements OnModuleDestroy {
  private readonly listeners = new Set<() => void>();
  private timer: NodeJS.Timeout | null = null;
  private seen = 0;

  constructor(private readonly ledger: LedgerService) {}

  /** Calls back whenever entries were added. Returns a function that ends the subscription. */
  onGrowth(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.timer === null) {
      this.seen = this.ledger.head.sequence;
      this.timer = setInterval(() => this.poll(), INTERVAL).unref();
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

  private poll(): void {
    const { sequence } = this.ledger.head;
    if (sequence <= this.seen) return;
    this.seen = sequence;
    for (const listener of [...this.listeners]) listener();
  }
}
