import { type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import type { Response } from 'express';
import { Configuration } from '../../config/configuration';
import { DomainError } from '../../errors/domain-error';
import { ApiKeyCheck } from '../authentication/api-key-check';
import { routeTraits } from '../route-traits';
import { exchangeOf, type ServiceRequest } from '../service-request';
import { clientAddress } from './client-address';
import { keyHoldersBucket } from './rate-limit-bucket.decorator';
import { RateLimits, rateLimitHeaders, type RateStanding } from './rate-limits';

const ALLOWED = Promise.resolve(true);

/**
 * First of the guards: counts every request per client over all routes together, those with a valid key apart from those
 * without. The throttler's own `canActivate` counts per route, sets a timer per request and sends no headers on 429.
 */
@Injectable()
export class AppThrottlerGuard extends ThrottlerGuard {
  private readonly proxyLogger = new Logger('RateLimit');
  private warnsOfProxies: boolean;

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly limits: RateLimits,
    reflector: Reflector,
    private readonly keys: ApiKeyCheck,
    { trustedProxies }: Configuration,
  ) {
    super(options, limits, reflector);
    this.warnsOfProxies = trustedProxies === 0;
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    const [request, response] = exchangeOf(context);
    const { rateLimitBucket, isUncounted } = routeTraits(context);
    this.warnOfProxy(request);
    const bucket = this.keys.isPassedBy(request) ? keyHoldersBucket(rateLimitBucket) : rateLimitBucket;
    const address = clientAddress(request);
    const standing = isUncounted ? this.limits.look(bucket, address) : this.limits.count(bucket, address);
    return standing instanceof Promise
      ? standing.then((counted) => admit(response, counted, isUncounted))
      : admit(response, standing, isUncounted);
  }

  /** Once: a proxy that nobody told the service of makes one client of all behind it. */
  private warnOfProxy({ headers }: ServiceRequest): void {
    if (!this.warnsOfProxies || headers['x-forwarded-for'] === undefined) return;
    this.warnsOfProxies = false;
    this.proxyLogger.warn(
      'A request carries X-Forwarded-For, but TRUST_PROXY is 0: where a proxy sent it, all clients behind that proxy count ' +
        'as one. Set TRUST_PROXY to the number of proxies in front of the service, or to their addresses. Leave it at 0 where there is none.',
    );
  }
}

function admit(response: Response, standing: RateStanding, isUncounted: boolean): Promise<boolean> {
  for (const [name, value] of rateLimitHeaders(standing)) {
    response.setHeader(name, value);
  }
  if (standing.exceeded && !isUncounted) {
    throw rateLimited(standing);
  }
  return ALLOWED;
}

function rateLimited(standing: RateStanding): DomainError {
  const message = `At most ${standing.limit} requests are allowed per window. Try again in ${standing.retryAfter} s.`;
  return new DomainError('RATE_LIMITED', message, { headers: { 'Retry-After': String(standing.retryAfter) } });
}
