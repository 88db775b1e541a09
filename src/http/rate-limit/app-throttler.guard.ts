import { type ExecutionContext, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerStorage,
} from '@nestjs/throttler';
import type { Response } from 'express';
import { Configuration } from '../../core/config/configuration';
import { DomainError } from '../../core/errors/domain-error';
import type { Identity } from '../../ledger/caller';
import { Authentication } from '../authentication/authentication';
import { routeTemplate, routeTraits } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** What one client has used of its current window. */
export interface RateWindow {
  /** Requests counted in the window. */
  hits: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
}

/** Counts requests per client in fixed windows. */
export interface RequestCounter {
  /**
   * Counts the given number of requests: one, or none to read the count only. Synchronous if the count is in
   * memory, otherwise a promise that never rejects.
   */
  hit(client: string, requests: number): RateWindow | Promise<RateWindow>;
  close(): void;
}

/** Clients remembered: about 20 MB if full. */
const REMEMBERED_CLIENTS = 200_000;

/**
 * Counts the requests of this process, in bounded memory and without timers. Clients live in two generations. A
 * new client joins the current one; once that is full or a window old it becomes the previous one, and the one before
 * it is dropped: its windows have expired by then, unless clients arrive faster than `capacity` allows, in which case
 * the oldest are dropped first.
 */
export class FixedWindows implements RequestCounter {
  private current = new Map<string, RateWindow>();
  private previous = new Map<string, RateWindow>();
  private currentSince = 0;

  /** @param length in milliseconds. @param capacity the most clients remembered. */
  constructor(
    private readonly length: number,
    private readonly capacity = REMEMBERED_CLIENTS,
  ) {}

  /** @param now milliseconds since 1970. */
  hit(client: string, requests: number, now = Date.now()): RateWindow {
    const known = this.current.get(client) ?? this.previous.get(client);
    const window = known !== undefined && this.isOpen(known, now) ? known : this.open(client, now);
    window.hits += requests;
    return window;
  }

  get size(): number {
    return this.current.size + this.previous.size;
  }

  close(): void {
    // Memory needs no closing.
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

  /** The same through the throttler's own interface. */
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

const ALLOWED = Promise.resolve(true);

/**
 * The first guard: counts every request per client over all routes together, requests with a valid key separately from
 * those without. The throttler's own `canActivate` knows no callers, sends no `X-RateLimit-*` with a 429, and
 * takes promises where the count is in memory. It also notes what the route declares, for the later guards.
 */
@Injectable()
export class AppThrottlerGuard extends ThrottlerGuard {
  private readonly proxyLogger = new Logger('RateLimit');
  private warnsOfProxies: boolean;

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly limits: RateLimits,
    reflector: Reflector,
    private readonly authentication: Authentication,
    { trustedProxies }: Configuration,
  ) {
    super(options, limits, reflector);
    this.warnsOfProxies = trustedProxies === 0;
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    const [request, response] = context.getArgs<Exchange>();
    this.warnOfProxy(request);
    request.traits = routeTraits(context);
    request.template = routeTemplate(request);
    // What is not counted must not show whether a key is valid: it could be tried without limit.
    if (request.traits.isUncounted) return this.count(request, response, null);
    const identity = this.authentication.needsVerification(request)
      ? this.verified(request)
      : this.authentication.identify(request);
    if (!(identity instanceof Promise)) return this.count(request, response, identity);
    // Nobody can be looked up now, neither in the database nor at the issuer of a token. A public route answers
    // nevertheless; for any other, the next guard asks again and reports the failure.
    return identity.catch(() => null).then((found) => this.count(request, response, found));
  }

  /** Without a promise where the count is in memory: one for each request would cost more than the count. */
  private count(request: ServiceRequest, response: Response, identity: Identity | null): Promise<boolean> {
    const { isUncounted, rateLimitBucket, keyHoldersBucket } = request.traits;
    // Clients with a key have a bucket of their own, or strangers behind the same proxy could use it up.
    const bucket = identity === null ? rateLimitBucket : keyHoldersBucket;
    const admit = (status: RateLimitStatus): Promise<boolean> => {
      for (const [name, value] of status.headers) response.setHeader(name, value);
      if (status.exceeded && !isUncounted) throw rateLimited(status);
      return ALLOWED;
    };
    const status = this.limits.count(bucket, request.client, isUncounted ? 0 : 1);
    return status instanceof Promise ? status.then(admit) : admit(status);
  }

  /** Verifying a signature takes time, so strangers get that only within their limit. */
  private async verified(request: ServiceRequest): Promise<Identity | null> {
    const { remaining } = await this.limits.count(request.traits.rateLimitBucket, request.client, 0);
    return remaining === 0 ? null : this.authentication.identify(request);
  }

  /** Once: a proxy missing from TRUST_PROXY makes one client of all behind it. */
  private warnOfProxy({ headers }: ServiceRequest): void {
    if (!this.warnsOfProxies || headers['x-forwarded-for'] === undefined) return;
    this.warnsOfProxies = false;
    this.proxyLogger.warn(
      'A request carries X-Forwarded-For, but TRUST_PROXY is 0: if a proxy sent it, all clients behind that proxy count ' +
        'as one. Set TRUST_PROXY to the number of proxies in front of the service, or to their addresses. Leave it at 0 if there is none.',
    );
  }
}

function rateLimited(status: RateLimitStatus): DomainError {
  const message = `At most ${status.limit} requests are allowed per window. Try again in ${status.retryAfter} s.`;
  return new DomainError('RATE_LIMITED', message, { headers: { 'Retry-After': String(status.retryAfter) } });
}
