import type { OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { countedClient } from '../request/client-address';
import type { RateWindow, RequestCounter } from './fixed-windows';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** A client's standing against the limit. */
export interface RateStanding {
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
   * Counts a request from `address` and returns the client's standing in the bucket: synchronously if the count is in
   * memory, since a promise per request would cost more than the count. The promise never rejects.
   */
  count(bucket: string, address: string): RateStanding | Promise<RateStanding> {
    return this.standing(bucket, address, 1);
  }

  /** The same without counting the request. */
  peek(bucket: string, address: string): RateStanding | Promise<RateStanding> {
    return this.standing(bucket, address, 0);
  }

  /** The same through the throttler's own interface. */
  async increment(key: string, _ttl: number, limit: number, _block: number, name: string): Promise<ThrottlerRecord> {
    const { hits, resetsAt } = await this.counter.hit(name, key, 1);
    const seconds = Math.ceil((resetsAt - Date.now()) / 1000);
    return { totalHits: hits, timeToExpire: seconds, isBlocked: hits > limit, timeToBlockExpire: seconds };
  }

  onApplicationShutdown(): void {
    this.counter.close();
  }

  private standing(bucket: string, address: string, requests: number): RateStanding | Promise<RateStanding> {
    const window = this.counter.hit(bucket, countedClient(address), requests);
    return window instanceof Promise ? window.then((counted) => this.standingOf(counted)) : this.standingOf(window);
  }

  private standingOf({ hits, resetsAt }: RateWindow): RateStanding {
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
