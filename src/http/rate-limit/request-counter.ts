import { FixedWindows, type RateWindow } from './fixed-windows';

/** Clients remembered per bucket: about 10 MB when all are. */
const REMEMBERED_CLIENTS = 100_000;

/** Counts requests per client and bucket in fixed windows. */
export interface RequestCounter {
  /** Counts so many requests: one, or none where only the standing is asked for. At once where the count is kept in memory, or a promise that never rejects. */
  hit(bucket: string, client: string, requests: number): RateWindow | Promise<RateWindow>;
  close(): void;
}

/** Counts what reaches this process. */
export class ProcessCounter implements RequestCounter {
  private readonly buckets = new Map<string, FixedWindows>();

  /** `window` in milliseconds. */
  constructor(private readonly window: number) {}

  hit(bucket: string, client: string, requests: number): RateWindow {
    return this.windowsOf(bucket).hit(client, Date.now(), requests);
  }

  close(): void {
    // Memory needs no closing.
  }

  private windowsOf(bucket: string): FixedWindows {
    let windows = this.buckets.get(bucket);
    if (windows === undefined) {
      windows = new FixedWindows(this.window, REMEMBERED_CLIENTS);
      this.buckets.set(bucket, windows);
    }
    return windows;
  }
}
