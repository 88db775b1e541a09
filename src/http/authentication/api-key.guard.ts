import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { type Caller, callerOf, type Identity, isLoneScope } from '../../ledger/kinds/caller';
import { Configuration } from '../../core/config/configuration';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { ModuleRef } from '@nestjs/core';
import { type DomainError, loneScopeRefused, scopeMissing, unauthorized } from '../../core/errors/domain-error';
import { isPreflight } from '../responses/common-headers';
import { FailedAuthentications } from './failed-authentications';
import type { AdmissionRule, RouteTraits } from '../request/routes';
import { Authentication, presentsCredential } from './authentication';

/**
 * Determines the caller of a request by its API key, or by a token in its place, and admits it if it has a scope of the
 * route. Public routes need no caller.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly authentication: Authentication,
    private readonly failures: FailedAuthentications,
    private readonly modules: ModuleRef,
    private readonly configuration: Configuration,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const [request] = context.getArgs<Exchange>();
    if (request.traits.isPublic || this.isPublicPreflight(request)) {
      if (request.identity === null && presentsCredential(request)) this.failures.note(request);
      return true;
    }
    const identity = this.authentication.identify(request);
    return identity instanceof Promise
      ? identity.then((identity) => this.admit(request, identity))
      : this.admit(request, identity);
  }

  /** A route that handles OPTIONS itself also gets preflights; those run only for its callers. */
  private isPublicPreflight(request: ServiceRequest): boolean {
    return request.traits.scopes === 'unrouted' && isPreflight(request, this.configuration);
  }

  private admit(request: ServiceRequest, identity: Identity | null): boolean | Promise<boolean> {
    if (identity === null) {
      this.failures.note(request);
      throw unauthorized();
    }
    const { admissionRule } = request.traits;
    const refusal = refusalOf(identity, request.traits);
    const { id: requestId, address: ip, traceId } = request;
    const caller = callerOf(identity, { requestId, ip, traceId });
    request.caller = caller;
    if (refusal !== null) throw refusal;
    return admissionRule === undefined || this.admitBy(admissionRule, caller, request);
  }

  private async admitBy(rule: Type<AdmissionRule>, caller: Caller, request: ServiceRequest): Promise<boolean> {
    const refusal = await this.modules.get(rule, { strict: false }).refusalOf(caller, request);
    if (refusal !== null) throw refusal;
    return true;
  }
}

function refusalOf(identity: Identity, { scopes, admittedLoneScopes }: RouteTraits): DomainError | null {
  if (scopes === 'unrouted') return null;
  const refusal = identity.refusal();
  if (refusal !== null) return refusal;
  if (typeof scopes !== 'string')
    return scopes.some((scope) => identity.effectiveScopes.has(scope)) ? null : scopeMissing(scopes);
  const lone = identity.scopes.find((scope) => isLoneScope(scope) && !admittedLoneScopes.includes(scope));
  return lone === undefined ? null : loneScopeRefused(lone);
}
