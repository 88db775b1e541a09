import { createRequire } from 'node:module';
import { Global, Module } from '@nestjs/common';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { Configuration } from '../core/config/configuration';
import { OpenedParts } from '../core/lifecycle/opened-parts';
import { BodyReader } from './body/body-reader';
import { FallbackController } from './fallback/fallback.controller';
import { Gates } from './gates';
import { Lists } from './lists/lists';
import { ProcessCounter, RateLimits, type RequestCounter } from './rate-limit/rate-limits';
import type * as redis from './rate-limit/redis-counter';
import { ShutdownGuard } from './shutdown/shutdown';
import { StreamedAnswers } from './answers/streamed-answers';
import { Waits } from './waiting/waits';

const load = createRequire(__filename);

const SHARED = [BodyReader, Gates, Lists, ShutdownGuard, StreamedAnswers, Waits];

/**
 * What guards, controllers and the metrics share, and the route for everything that has no other. To be imported last:
 * that route matches every path.
 */
@Global()
@Module({
  imports: [ThrottlerModule.forRootAsync({ inject: [Configuration, OpenedParts], useFactory: throttlerOptions })],
  controllers: [FallbackController],
  providers: SHARED,
  exports: [...SHARED, ThrottlerModule],
})
export class HttpModule {}

/** The throttler counts with `RateLimits`. */
async function throttlerOptions(configuration: Configuration, opened: OpenedParts): Promise<ThrottlerModuleOptions> {
  const { rateLimit, rateWindow } = configuration;
  const counter = await opened.open(
    () => counterFor(configuration),
    (part) => part.close(),
  );
  return {
    throttlers: [{ limit: rateLimit, ttl: rateWindow }],
    storage: new RateLimits(rateLimit, counter),
  };
}

async function counterFor({ redisUrl, rateWindow }: Configuration): Promise<RequestCounter> {
  if (redisUrl === null) return new ProcessCounter(rateWindow);
  // With its driver, which a process alone does not need.
  const { RedisCounter } = load('./rate-limit/redis-counter') as typeof redis;
  return RedisCounter.open(redisUrl, rateWindow);
}
