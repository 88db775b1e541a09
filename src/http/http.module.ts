import { createRequire } from 'node:module';
import { Global, Logger, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { Configuration } from '../core/config/configuration';
import { OpenedParts } from '../core/lifecycle/opened-parts';
import { AccessDenials } from './authentication/access-denials';
import { BodyReader } from './body/body-reader';
import { FallbackController } from './fallback/fallback.controller';
import { Gates } from './gates';
import { Lists } from './lists/lists';
import { ApiDocument, OpenApiController } from './openapi/openapi.controller';
import { ProcessCounter, RateLimits, type RequestCounter } from './rate-limit/rate-limits';
import type * as redis from './rate-limit/redis-counter';
import { handlersIn, marksOf } from './request/routes';
import { ShutdownGuard } from './server/shutdown';
import { StreamedResponses } from './responses/streamed-responses';
import { RecordWaiter } from './reading/record-waiter';

const load = createRequire(__filename);

const SHARED = [AccessDenials, BodyReader, Gates, Lists, ShutdownGuard, StreamedResponses, RecordWaiter];

/**
 * Provides the parts that guards, controllers and metrics share, the API document, and the fallback. Must be imported
 * last, because the fallback matches every path.
 */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    ThrottlerModule.forRootAsync({ inject: [Configuration, OpenedParts], useFactory: throttlerOptions }),
  ],
  controllers: [OpenApiController, FallbackController],
  providers: [...SHARED, ApiDocument],
  exports: [...SHARED, ThrottlerModule],
})
export class HttpModule implements OnApplicationBootstrap {
  private readonly logger = new Logger('Scopes');

  constructor(private readonly discovery: DiscoveryService) {}

  /** Warns about routes that do not name the scope they need. */
  onApplicationBootstrap(): void {
    for (const [controller, handler] of handlersIn(this.discovery)) {
      if ((marksOf(handler).scopes ?? marksOf(controller).scopes) !== undefined) continue;
      const route = `${controller.name}.${handler.name}`;
      this.logger.warn(`${route} names no scope, so its route needs admin. Give it @RequiresScope('…'), or @Public().`);
    }
  }
}

/** The throttler counts with `RateLimits`. */
async function throttlerOptions(configuration: Configuration, opened: OpenedParts): Promise<ThrottlerModuleOptions> {
  const { rateLimit, rateLimitPerKey, rateWindow } = configuration;
  const counter = await opened.open(
    () => counterFor(configuration),
    (part) => part.close?.(),
  );
  return {
    throttlers: [{ limit: rateLimit, ttl: rateWindow }],
    storage: new RateLimits(rateLimit, counter, rateLimitPerKey),
  };
}

async function counterFor({ redisUrl, rateWindow }: Configuration): Promise<RequestCounter> {
  if (redisUrl === null) return new ProcessCounter(rateWindow);
  // Loads Redis' driver, which a single process does not need.
  const { RedisCounter } = load('./rate-limit/redis-counter') as typeof redis;
  return RedisCounter.open(redisUrl, rateWindow);
}
