import { type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import type { Response } from 'express';
import { Configuration } from '../../core/config/configuration';
import { DomainError } from '../../core/errors/domain-error';
import type { Identity } from '../../ledger/caller';
import { Authentication } from '../authentication/authentication';
import { routeTraits } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { clientAddress, countedClient } from '../request/client-address';
import { RateLimits, type RateLimitStatus } from './rate-limits';

const ALLOWED = Promise.resolve(true);

/**
 * The first guard: counts every request per client over all routes together, requests with a valid key separately from
 * those without. The throttler's own `canActivate` counts per route, sets a timer per request and sends no headers on
 * 429.
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
    request.traits = routeTraits(context);
    this.warnOfProxy(request);
    // What is not counted must not show whether a key is valid: it could be tried without limit.
    if (request.traits.isUncounted) return this.peekOf(request, response);
    if (this.authentication.needsVerification(request)) return this.verify(request, response);
    const identity = this.authentication.identify(request);
    const status =
      identity instanceof Promise
        ? unlessUnknown(identity).then((found) => this.status(request, found))
        : this.status(request, identity);
    return status instanceof Promise ? status.then((counted) => admit(response, counted)) : admit(response, status);
  }

  private async peekOf(request: ServiceRequest, response: Response): Promise<boolean> {
    const { rateLimitBucket } = request.traits;
    setHeaders(response, await this.limits.peek(rateLimitBucket, countedClient(clientAddress(request))));
    return true;
  }

  /** Verifying a signature takes time, so strangers get that only within their limit. */
  private async verify(request: ServiceRequest, response: Response): Promise<boolean> {
    const { rateLimitBucket } = request.traits;
    const { remaining } = await this.limits.peek(rateLimitBucket, countedClient(clientAddress(request)));
    const found = remaining === 0 ? null : await unlessUnknown(this.authentication.identify(request));
    return admit(response, await this.status(request, found));
  }

  /** Clients with a key have a bucket of their own, or strangers behind the same proxy could use it up. */
  private status(request: ServiceRequest, identity: Identity | null): RateLimitStatus | Promise<RateLimitStatus> {
    const { rateLimitBucket, keyHoldersBucket } = request.traits;
    const bucket = identity === null ? rateLimitBucket : keyHoldersBucket;
    return this.limits.count(bucket, countedClient(clientAddress(request)));
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

/**
 * Also null if nobody can be looked up now, neither in the database nor at the issuer of a token. A public route answers
 * nevertheless; for any other, the next guard asks again and reports the failure.
 */
async function unlessUnknown(identity: Identity | null | Promise<Identity | null>): Promise<Identity | null> {
  try {
    return await identity;
  } catch {
    return null;
  }
}

function admit(response: Response, status: RateLimitStatus): Promise<boolean> {
  setHeaders(response, status);
  if (status.exceeded) throw rateLimited(status);
  return ALLOWED;
}

function setHeaders(response: Response, { headers }: RateLimitStatus): void {
  for (const [name, value] of headers) response.setHeader(name, value);
}

function rateLimited(status: RateLimitStatus): DomainError {
  const message = `At most ${status.limit} requests are allowed per window. Try again in ${status.retryAfter} s.`;
  return new DomainError('RATE_LIMITED', message, { headers: { 'Retry-After': String(status.retryAfter) } });
}
