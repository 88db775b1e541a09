import { SetMetadata, type CustomDecorator } from '@nestjs/common';

export const RATE_LIMIT_BUCKET = 'http:rate-limit-bucket';
export const IS_UNCOUNTED = 'http:uncounted';
/** All routes that name no bucket of their own share this one. */
export const SHARED_BUCKET = 'shared';

/** Counts a route apart from the rest, under the same limit: what a probe uses up is not taken from its host. */
export const RateLimitBucket = (name: string): CustomDecorator => SetMetadata(RATE_LIMIT_BUCKET, name);

/** Does not count a route, and never refuses it: for files that are the same for everybody. */
export const Uncounted = (): CustomDecorator => SetMetadata(IS_UNCOUNTED, true);

/**
 * The bucket of a route for those who hold a key. They have one of their own: else strangers behind the same proxy, who
 * need nothing to send requests, could use theirs up.
 */
export function keyHoldersBucket(bucket: string): string {
  return `${bucket}-with-key`;
}
