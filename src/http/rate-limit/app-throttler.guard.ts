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
import { type Identity, isLoneScope } from '../../ledger/kinds/caller';
import { Authentication } from '../authentication/authentication';
import { routeTemplate, routeTraits } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { RateLimits, type RateLimitStatus } from './rate-limits';

const ALLOWED = Promise.resolve(true);

/**
 * The first guard: counts every request per client over all routes together, requests with a valid key separately from
 * those without. The throttler's own `canActivate` knows no callers, sends no `X-RateLimit-*` with a 429, and creates
 * promises even if the count is in memory. The guard also stores the route's traits for the later guards.
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
    // An uncounted response must not show whether a key is valid: keys could be guessed without limit.
    if (request.traits.isUncounted) return this.count(request, response, null);
    const identity = this.authentication.needsVerification(request)
      ? this.verified(request)
      : this.authentication.identify(request);
    if (!(identity instanceof Promise)) return this.count(request, response, identity);
    // The caller cannot be looked up now, in the database or at the issuer of a token. A public route responds
    // nevertheless; for others, the next guard repeats the look-up and reports the failure.
    return identity.catch(() => null).then((caller) => this.count(request, response, caller));
  }

  /**
   * Counts a request; without a promise if the count is in memory, because a promise would cost more than the count.
   */
  private count(request: ServiceRequest, response: Response, identity: Identity | null): Promise<boolean> {
    const { rateLimitBucket, keyHoldersBucket } = request.traits;
    // A gateway's reports must not compete with the requests that it passes on, and a directory sends all its requests
    // at once.
    const isUncounted = request.traits.isUncounted || identity?.scopes.some(isLoneScope) === true;
    const admit = (status: RateLimitStatus): Promise<boolean> => {
      for (const [name, value] of status.headers) response.setHeader(name, value);
      if (status.exceeded && !isUncounted) throw rateLimited(status);
      return ALLOWED;
    };
    const { client } = request;
    const requests = isUncounted ? 0 : 1;
    // Clients with a key have their own bucket; strangers behind the same proxy could use up a shared one.
    const status =
      identity === null
        ? this.limits.count(rateLimitBucket, client, requests)
        : this.limits.countHolder(keyHoldersBucket, { client, holder: callerKey(identity) }, requests);
    return status instanceof Promise ? status.then(admit) : admit(status);
  }

  /** Verifies a token within the limit of strangers, because verifying a signature takes time. */
  private async verified(request: ServiceRequest): Promise<Identity | null> {
    const { remaining } = await this.limits.count(request.traits.rateLimitBucket, request.client, 0);
    return remaining === 0 ? null : this.authentication.identify(request);
  }

  /** Warns once: a proxy missing from TRUST_PROXY makes all clients behind it one client. */
  private warnOfProxy({ headers }: ServiceRequest): void {
    if (!this.warnsOfProxies || headers['x-forwarded-for'] === undefined) return;
    this.warnsOfProxies = false;
    this.proxyLogger.warn(
      'A request carries X-Forwarded-For, but TRUST_PROXY is 0: if a proxy sent it, all clients behind that proxy count ' +
        'as one. Set TRUST_PROXY to the number of proxies in front of the service, or to their addresses. Leave it at 0 if there is none.',
    );
  }
}

/** Returns the same key for all requests with one API key, or with tokens of one subject. */
function callerKey({ actor: { type, id } }: Identity): string {
  return `${type} ${id}`;
}

function rateLimited({ limit, setting, retryAfter }: RateLimitStatus): DomainError {
  const message = `At most ${limit} requests are allowed per window (${setting}). Try again in ${retryAfter} s.`;
  return new DomainError('RATE_LIMITED', message, { headers: { 'Retry-After': String(retryAfter) } });
}
