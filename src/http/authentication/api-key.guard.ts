import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../../config/configuration';
import { DomainError } from '../../errors/domain-error';
import { isPreflight } from '../middleware/cors';
import { clientAddress } from '../rate-limit/client-address';
import { routeTraits } from '../route-traits';
import { exchangeOf, type ServiceRequest } from '../service-request';
import { ApiKeyCheck } from './api-key-check';

/** Lets a request pass that carries the API key, once, or that asks for a public route. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  private readonly logger = new Logger(ApiKeyGuard.name);
  private readonly preflightsArePublic: boolean;
  private failures = 0;

  constructor(
    private readonly check: ApiKeyCheck,
    { corsOrigins }: Configuration,
  ) {
    this.preflightsArePublic = corsOrigins !== null;
  }

  canActivate(context: ExecutionContext): boolean {
    const [request] = exchangeOf(context);
    if (routeTraits(context).isPublic || (this.preflightsArePublic && isPreflight(request))) {
      return true;
    }
    if (!this.check.isPassedBy(request)) {
      this.refuse(request);
    }
    return true;
  }

  private refuse(request: ServiceRequest): never {
    this.failures += 1;
    this.logger.warn({
      msg: 'Authentication failed',
      ip: clientAddress(request),
      failuresSinceStart: this.failures,
    });
    throw new DomainError('UNAUTHORIZED', 'A valid API key is required, in exactly one X-API-Key header.', {
      headers: { 'WWW-Authenticate': 'ApiKey realm="governance"' },
    });
  }
}
