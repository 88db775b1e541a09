import { type CanActivate, Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { routeNotFound } from '../http/errors/request-errors';

/** Where the documentation is switched off, there is nothing at its paths. */
@Injectable()
export class DocsEnabledGuard implements CanActivate {
  constructor(private readonly configuration: Configuration) {}

  canActivate(): boolean {
    if (!this.configuration.swaggerEnabled) {
      throw routeNotFound();
    }
    return true;
  }
}
