import type { ThrottlerStorage } from '@nestjs/throttler';
import { countedClient } from './client-address';
import { FixedWindows, type RateWindow } from './fixed-windows';

/** Clients remembered per bucket: about 10 MB when all are. */
const REMEMBERED_CLIENTS = 100_000;

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** How a request stands against the limit. */
export interface RateStanding {
  readonly limit: number;
  readonly remaining: number;
  /** Unix time in seconds at which the window resets. */
  readonly reset: number;
  /** Seconds until then, at least one. */
  readonly retryAfter: number;
  readonly exceeded: boolean;
}

/** The throttler's storage: one set of fixed windows per bucket. */
export class RateLimits implements ThrottlerStorage {
  private readonly buckets = new Map<string, FixedWindows>();

  /** `window` in milliseconds. */
  constructor(
    private readonly limit: number,
    private readonly window: number,
  ) {}

  /** Counts a request from `address` and tells how that client stands in the bucket now. */
  count(bucket: string, address: string): RateStanding {
    const now = Date.now();
    const { hits, resetsAt } = this.windowsOf(bucket).hit(countedClient(address), now);
    return {
      limit: this.limit,
      remaining: Math.max(0, this.limit - hits),
      reset: Math.ceil(resetsAt / 1000),
      retryAfter: Math.max(1, Math.ceil((resetsAt - now) / 1000)),
      exceeded: hits > this.limit,
    };
  }

  /** The same for code that speaks to the throttler's own interface. */
  async increment(key: string, _ttl: number, limit: number, _block: number, name: string): Promise<ThrottlerRecord> {
    const now = Date.now();
    const { hits, resetsAt }: RateWindow = this.windowsOf(name).hit(key, now);
    const seconds = Math.ceil((resetsAt - now) / 1000);
    return { totalHits: hits, timeToExpire: seconds, isBlocked: hits > limit, timeToBlockExpire: seconds };
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

/** The headers every answer carries. */
export function rateLimitHeaders(standing: RateStanding): readonly [name: string, value: string][] {
  return [
    ['X-RateLimit-Limit', String(standing.limit)],
    ['X-RateLimit-Remaining', String(standing.remaining)],
    ['X-RateLimit-Reset', String(standing.reset)],
  ];
}
