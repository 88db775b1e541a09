import type { OnApplicationShutdown } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** The used part of a client's current window. */
export interface RateWindow {
  /** Requests counted in the window. */
  hits: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/** Counts requests per client and bucket in fixed windows. */
export interface RequestCounter {
  /**
   * Counts `requests` requests: one, or none to only read the count. Synchronous if the count is in memory; otherwise a
   * promise that never rejects.
   */
  hit(bucket: string, client: string, requests: number): RateWindow | Promise<RateWindow>;
  /** Closes the counter; absent if it is in memory. */
  close?(): void;
}

/** Clients remembered per bucket: about 10 MB if full. */
const REMEMBERED_CLIENTS = 100_000;

/**
 * Counts the requests of this process. Each bucket has its own windows, so that strangers cannot displace holders of
 * keys.
 */
export class ProcessCounter implements RequestCounter {
  private readonly buckets = new Map<string, FixedWindows>();

  /** @param window in milliseconds. */
  constructor(private readonly window: number) {}

  hit(bucket: string, client: string, requests: number): RateWindow {
    const windows = this.buckets.get(bucket) ?? new FixedWindows(this.window, REMEMBERED_CLIENTS);
    this.buckets.set(bucket, windows);
    return windows.hit(client, requests);
  }
}

/**
 * Counts requests per client in fixed windows, in bounded memory and without timers. Clients live in two generations. A
 * new client joins the current generation. Once this is full or a window old, it becomes the previous generation, and
 * the generation before is dropped. The windows of the dropped generation have expired by then, unless clients arrive
 * faster than `capacity` allows: then the oldest clients are dropped first.
 */
export class FixedWindows {
  private current = new Map<string, RateWindow>();
  private previous = new Map<string, RateWindow>();
  private currentSince = 0;

  /** @param length in milliseconds. @param capacity the most clients remembered. */
  constructor(
    private readonly length: number,
    private readonly capacity: number,
  ) {}

  /** @param now milliseconds since 1970. */
  hit(client: string, requests: number, now = Date.now()): RateWindow {
    const currentWindow = this.current.get(client) ?? this.previous.get(client);
    const window =
      currentWindow !== undefined && this.isOpen(currentWindow, now) ? currentWindow : this.open(client, now);
    window.hits += requests;
    return window;
  }

  get size(): number {
    return this.current.size + this.previous.size;
  }

  /**
   * A window that ends later than a full window from now was opened before the clock was set back: it would refuse for
   * too long.
   */
  private isOpen({ resetsAt }: RateWindow, now: number): boolean {
    return now < resetsAt && resetsAt - now <= this.length;
  }

  private open(client: string, now: number): RateWindow {
    if (this.current.size >= this.capacity / 2 || Math.abs(now - this.currentSince) >= this.length) {
      this.previous = this.current;
      this.current = new Map();
      this.currentSince = now;
    }
    const opened: RateWindow = { hits: 0, resetsAt: now + this.length };
    this.current.set(client, opened);
    return opened;
  }
}

/** The settings that limit rates. */
type RateLimitSetting = 'RATE_LIMIT' | 'RATE_LIMIT_PER_KEY';

/** The used part of a client's limit. */
export interface RateLimitStatus {
  readonly limit: number;
  /** The setting that determines the limit. */
  readonly setting: RateLimitSetting;
  readonly remaining: number;
  /** Seconds until the window resets, at least one. */
  readonly retryAfter: number;
  readonly exceeded: boolean;
  /** Headers for every response. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** The throttler's storage: compares counts with the limit. */
export class RateLimits implements ThrottlerStorage, OnApplicationShutdown {
  /** @param perKey limit of each key; null if the keys of a client count together */
  constructor(
    private readonly limit: number,
    private readonly counter: RequestCounter,
    private readonly perKey: number | null = null,
  ) {}

  /**
   * Counts requests (one, or none to only read the count) with a valid key: for its holder if each key has a limit,
   * otherwise for its client.
   */
  countHolder(bucket: string, { client, holder }: KeyUse, requests = 1): RateLimitStatus | Promise<RateLimitStatus> {
    if (this.perKey === null) return this.count(bucket, client, requests);
    const limit = { setting: 'RATE_LIMIT_PER_KEY', most: this.perKey } as const;
    const window = this.counter.hit(bucket, holder, requests);
    return window instanceof Promise ? window.then((counted) => statusOf(counted, limit)) : statusOf(window, limit);
  }

  /**
   * Counts requests (one, or none to only read the count) of a client (see `countedClient`) and returns its status in
   * the bucket. Synchronous if the count is in memory; otherwise a promise that never rejects.
   */
  count(bucket: string, client: string, requests = 1): RateLimitStatus | Promise<RateLimitStatus> {
    const window = this.counter.hit(bucket, client, requests);
    const limit = { setting: 'RATE_LIMIT', most: this.limit } as const;
    return window instanceof Promise ? window.then((counted) => statusOf(counted, limit)) : statusOf(window, limit);
  }

  /**
   * Implements the throttler's interface to its storage. The guard calls `count` instead, which knows clients and their
   * buckets.
   */
  async increment(key: string, _ttl: number, limit: number, _block: number, name: string): Promise<ThrottlerRecord> {
    const { hits, resetsAt } = await this.counter.hit(name, key, 1);
    const seconds = Math.ceil((resetsAt - Date.now()) / 1000);
    return { totalHits: hits, timeToExpire: seconds, isBlocked: hits > limit, timeToBlockExpire: seconds };
  }

  onApplicationShutdown(): void {
    this.counter.close?.();
  }
}

/** Holder of a key, and client that uses it. */
interface KeyUse {
  /** See `countedClient`. */
  readonly client: string;
  /** Same text for all requests with one key, or with tokens of one subject. */
  readonly holder: string;
}

function statusOf(
  { hits, resetsAt }: RateWindow,
  { setting, most }: { readonly setting: RateLimitSetting; readonly most: number },
): RateLimitStatus {
  const remaining = Math.max(0, most - hits);
  return {
    limit: most,
    setting,
    remaining,
    retryAfter: Math.max(1, Math.ceil((resetsAt - Date.now()) / 1000)),
    exceeded: hits > most,
    headers: [
      ['X-RateLimit-Limit', String(most)],
      ['X-RateLimit-Remaining', String(remaining)],
      ['X-RateLimit-Reset', String(Math.ceil(resetsAt / 1000))],
    ],
  };
}
