import type { OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { RateWindow, RequestCounter } from './fixed-windows';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** How much of its limit a client has used. */
export interface RateLimitStatus {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window resets, at least one. */
  readonly retryAfter: number;
  readonly exceeded: boolean;
  /** Every answer carries them. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The throttler's storage: compares counts with the limit. */
export class RateLimits implements ThrottlerStorage, OnApplicationShutdown {
  constructor(
    private readonly limit: number,
    private readonly counter: RequestCounter,
  ) {}

  /**
   * Counts a request of a client (see `countedClient`), or with 0 none, and returns its status in the bucket:
   * synchronously if the count is in memory. The promise never rejects.
   */
  count(bucket: string, client: string, requests = 1): RateLimitStatus | Promise<RateLimitStatus> {
    const window = this.counter.hit(`${bucket}:${client}`, requests);
    return window instanceof Promise ? window.then((counted) => this.statusOf(counted)) : this.statusOf(window);
  }

  /** What the throttler asks of its storage. The guard calls `count`, which knows clients and their buckets. */
  async increment(key: string, _ttl: number, limit: number, _block: number, name: string): Promise<ThrottlerRecord> {
    const { hits, resetsAt } = await this.counter.hit(`${name}:${key}`, 1);
    const seconds = Math.ceil((resetsAt - Date.now()) / 1000);
    return { totalHits: hits, timeToExpire: seconds, isBlocked: hits > limit, timeToBlockExpire: seconds };
  }

  onApplicationShutdown(): void {
    this.counter.close();
  }

  private statusOf({ hits, resetsAt }: RateWindow): RateLimitStatus {
    const { limit } = this;
    const remaining = Math.max(0, limit - hits);
    return {
      limit,
      remaining,
      retryAfter: Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000)),
      exceeded: hits > limit,
      headers: [
        ['X-RateLimit-Limit', String(limit)],
        ['X-RateLimit-Remaining', String(remaining)],
        ['X-RateLimit-Reset', String(Math.ceil(resetsAt / 1000))],
      ],
    };
  }
}
