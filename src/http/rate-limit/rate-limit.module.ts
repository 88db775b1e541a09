import { Module } from '@nestjs/common';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { Configuration } from '../../config/configuration';
import { OpenedParts } from '../../shared/opened-parts';
import { RateLimits } from './rate-limits';
import { RedisCounter } from './redis-counter';
import { ProcessCounter, type RequestCounter } from './fixed-windows';

/** Makes the throttler count with `RateLimits`. */
@Module({
  imports: [ThrottlerModule.forRootAsync({ inject: [Configuration, OpenedParts], useFactory: throttlerOptions })],
  exports: [ThrottlerModule],
})
export class RateLimitModule {}

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
  return redisUrl === null ? new ProcessCounter(rateWindow) : RedisCounter.open(redisUrl, rateWindow);
}
