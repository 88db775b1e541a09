import { setTimeout as sleep } from 'node:timers/promises';
import type { DeliveryProgressStore } from './delivery-progress-store';
import type { DeliveryProgress } from './delivery-progress.entity';

/** Milliseconds after which a failed write is retried. */
const RETRY = 500;

interface Pending {
  readonly progress: DeliveryProgress;
  readonly resolve: (isWritten: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes the positions of endpoints, many in one statement: those that arrive during a write are part of the next. */
export class ProgressWriter {
  private pending: Pending[] = [];
  private isWriting = false;

  /** @param mayWrite false: another process delivers now. */
  constructor(
    private readonly store: DeliveryProgressStore,
    private readonly mayWrite: () => boolean,
  ) {}

  /** Resolves when it is on disk; false if somebody else has set it since. One write per endpoint at a time. */
  write(progress: DeliveryProgress): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.pending.push({ progress, resolve, reject });
      if (!this.isWriting) void this.writeAll();
    });
  }

  private async writeAll(): Promise<void> {
    this.isWriting = true;
    while (this.pending.length > 0) {
      const group = this.pending;
      this.pending = [];
      await this.writeGroup(group);
    }
    this.isWriting = false;
  }

  /** Retries while the database is unavailable, as long as this process delivers. */
  private async writeGroup(group: readonly Pending[]): Promise<void> {
    for (;;) {
      try {
        const written = await this.store.write(group.map(({ progress }) => progress));
        for (const { progress, resolve } of group) resolve(written.has(progress.webhookId));
        return;
      } catch (error) {
        if (!this.mayWrite()) {
          for (const { reject } of group) reject(error);
          return;
        }
      }
      await sleep(RETRY);
    }
  }
}
