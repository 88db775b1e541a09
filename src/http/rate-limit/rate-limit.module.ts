import { Module } from '@nestjs/common';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { Configuration } from '../../config/configuration';
import { RateLimits } from './rate-limits';
import { RedisCounter } from './redis-counter';
import { ProcessCounter, type RequestCounter } from './fixed-windows';

/** Makes the throttler count with `RateLimits`. */
@Module({
  imports: [ThrottlerModule.forRootAsync({ inject: [Configuration], useFactory: throttlerOptions })],
  exports: [ThrottlerModule],
})
export class RateLimitModule {}

async function throttlerOptions(configuration: Configuration): Promise<ThrottlerModuleOptions> {
  const { rateLimit, rateWindow } = configuration;
  return {
    throttlers: [{ limit: rateLimit, ttl: rateWindow }],
    storage: new RateLimits(rateLimit, await counterFor(configuration)),
  };
}

async function counterFor({ redisUrl, rateWindow }: Configuration): Promise<RequestCounter> {
  return redisUrl === null ? new ProcessCounter(rateWindow) : RedisCounter.open(redisUrl, rateWindow);
}
