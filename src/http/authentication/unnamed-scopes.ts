import { Injectable, Logger, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { handlersOf, readTraits } from '../request/routes';

/** Warns at start about routes that do not name the scope they need. */
@Injectable()
export class UnnamedScopes implements OnApplicationBootstrap {
  private readonly logger = new Logger('Scopes');

  constructor(private readonly discovery: DiscoveryService) {}

  onApplicationBootstrap(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type;
      const unnamed = handlersOf(controller).filter(([, handler]) => !readTraits(controller, handler).namesScopes);
      for (const [name] of unnamed) {
        this.logger.warn(
          `${controller.name}.${name} names no scope, so its route needs admin. Give it @RequiresScope('…'), or @Public().`,
        );
      }
    }
  }
}
