import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const RATE_LIMIT_BUCKET = 'http:rate-limit-bucket';
/** All routes that name no bucket of their own share this one. */
export const SHARED_BUCKET = 'shared';

/** Counts a route apart from the rest, under the same limit: what a probe uses up is not taken from its host. */
export const RateLimitBucket = (name: string): CustomDecorator => SetMetadata(RATE_LIMIT_BUCKET, name);
