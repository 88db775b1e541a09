import { Global, Logger, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { RefusalRecord } from '../answers/exception.filter';
import { handlersOf, readTraits } from '../request/route-traits';
import { AccessDenials } from './access-denials';

/** What is known about refused callers, for answering and counting them. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [AccessDenials, { provide: RefusalRecord, useExisting: AccessDenials }],
  exports: [AccessDenials, RefusalRecord],
})
export class AccessModule implements OnApplicationBootstrap {
  private readonly logger = new Logger('Scopes');

  constructor(private readonly discovery: DiscoveryService) {}

  /** Warns about routes that do not name the scope they need. */
  onApplicationBootstrap(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type;
      for (const [name, handler] of handlersOf(controller)) {
        if (readTraits(controller, handler).namesScopes) continue;
        this.logger.warn(
          `${controller.name}.${name} names no scope, so its route needs admin. Give it @RequiresScope('…'), or @Public().`,
        );
      }
    }
  }
}
