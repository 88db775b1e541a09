import { Module } from '@nestjs/common';
import { ThrottlerModule, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { Configuration } from '../../config/configuration';
import { RateLimits } from './rate-limits';

/** Makes the throttler count with `RateLimits`. */
@Module({
  imports: [ThrottlerModule.forRootAsync({ inject: [Configuration], useFactory: throttlerOptions })],
  exports: [ThrottlerModule],
})
export class RateLimitModule {}

function throttlerOptions({ rateLimit, rateWindow }: Configuration): ThrottlerModuleOptions {
  return {
    throttlers: [{ limit: rateLimit, ttl: rateWindow }],
    storage: new RateLimits(rateLimit, rateWindow),
  };
}
