import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { LedgerService } from './ledger.service';

/** Milliseconds between checks of the head that this process knows. */
const INTERVAL = 50;

/** Says when the ledger has grown, whichever process wrote. It polls only while somebody waits. */
@Injectable()
export class LedgerTail implements OnModuleDestroy {
  /** Those who wait, and for entries after which sequence. */
  private readonly waiting = new Map<() => void, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly ledger: LedgerService) {}

  /** Of the last entry. */
  get sequence(): number {
    return this.ledger.head.sequence;
  }

  /** Resolves when there are entries after the sequence, or the signal is aborted. */
  beyond(sequence: number, over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        over.removeEventListener('abort', end);
        this.waiting.delete(end);
        if (this.waiting.size === 0) this.stop();
        resolve();
      };
      if (over.aborted || this.sequence > sequence) {
        resolve();
        return;
      }
      over.addEventListener('abort', end);
      this.waiting.set(end, sequence);
      this.timer ??= setInterval(() => this.poll(), INTERVAL).unref();
    });
  }

  onModuleDestroy(): void {
    this.stop();
  }

  private stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private poll(): void {
    for (const [end, sequence] of [...this.waiting]) if (this.sequence > sequence) end();
  }
}
