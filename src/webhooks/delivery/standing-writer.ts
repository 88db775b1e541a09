import { setTimeout as sleep } from 'node:timers/promises';
import type { Standings } from './standings';
import type { WebhookStanding } from './webhook-standing.entity';

/** Milliseconds after which what could not be written is written again. */
const RETRY = 500;

interface Pending {
  readonly standing: WebhookStanding;
  readonly resolve: (isWritten: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes where endpoints stand, those of many in one statement: what comes while one is under way goes with the next. */
export class StandingWriter {
  private pending: Pending[] = [];
  private isWriting = false;

  /** @param mayWrite false: somebody else delivers now. */
  constructor(
    private readonly standings: Standings,
    private readonly mayWrite: () => boolean,
  ) {}

  /** Resolves when it is on disk; false: that is for somebody else to say now. One of an endpoint at a time. */
  write(standing: WebhookStanding): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.pending.push({ standing, resolve, reject });
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

  /** While the database is away it is tried again, as long as this process delivers. */
  private async writeGroup(group: readonly Pending[]): Promise<void> {
    for (;;) {
      try {
        const written = await this.standings.write(group.map(({ standing }) => standing));
        for (const { standing, resolve } of group) resolve(written.has(standing.webhookId));
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
