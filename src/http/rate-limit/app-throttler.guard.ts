import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  InjectThrottlerStorage,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
} from '@nestjs/throttler';
import type { Response } from 'express';
import { DomainError } from '../../errors/domain-error';
import { routeTraits } from '../route-traits';
import { exchangeOf } from '../service-request';
import { clientAddress } from './client-address';
import { RateLimits, rateLimitHeaders, type RateStanding } from './rate-limits';

const ALLOWED = Promise.resolve(true);

/**
 * First of the guards: counts every request per client over all routes together. The throttler's own `canActivate`
 * counts per route, sets a timer per request and sends no headers on 429.
 */
@Injectable()
export class AppThrottlerGuard extends ThrottlerGuard {
  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    @InjectThrottlerStorage() private readonly limits: RateLimits,
    reflector: Reflector,
  ) {
    super(options, limits, reflector);
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    const [request, response] = exchangeOf(context);
    const { rateLimitBucket } = routeTraits(context);
    const standing = this.limits.count(rateLimitBucket, clientAddress(request));
    return standing instanceof Promise
      ? standing.then((counted) => admit(response, counted))
      : admit(response, standing);
  }
}

function admit(response: Response, standing: RateStanding): Promise<boolean> {
  for (const [name, value] of rateLimitHeaders(standing)) {
    response.setHeader(name, value);
  }
  if (standing.exceeded) {
    throw rateLimited(standing);
  }
  return ALLOWED;
}

function rateLimited(standing: RateStanding): DomainError {
  const message = `At most ${standing.limit} requests are allowed per window. Try again in ${standing.retryAfter} s.`;
  return new DomainError('RATE_LIMITED', message, { headers: { 'Retry-After': String(standing.retryAfter) } });
}
