import { applyDecorators } from '@nestjs/common';
import { CheckedBy } from '../../http/validation/member-rule';
import { TimestampField } from '../../http/validation/text-fields';
import { parseTimestamp } from '../../http/validation/timestamp';

const YEARS_AHEAD = 10;

/** When a decision that nobody settled expires: ahead, at most ten years. */
export function ExpiryField(): PropertyDecorator {
  return applyDecorators(
    TimestampField({
      optional: true,
      description: 'From this moment on the decision can no longer be reviewed. Ahead, at most ten years; with a zone.',
    }),
    CheckedBy('expiry', (value) => expiryFault(value, new Date())),
  );
}

/**
 * That it lies ahead is for the ledger to say: a request that is repeated with its `Idempotency-Key` after it has passed is
 * still answered as it was first. A value that is no time at all is another rule's to blame.
 */
function expiryFault(value: unknown, now: Date): string | undefined {
  const expiresAt = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return expiresAt === undefined || expiresAt <= latestExpiry(now) ? undefined : expiryRule(now);
}

/** ISO 8601. */
function latestExpiry(now: Date): string {
  const latest = new Date(now);
  latest.setUTCFullYear(now.getUTCFullYear() + YEARS_AHEAD);
  return latest.toISOString();
}

/** What is right for `expiresAt`, as the message of a fault. */
export function expiryRule(now: Date): string {
  return `must be ahead of now, at most ${YEARS_AHEAD} years: up to ${latestExpiry(now)}`;
}
