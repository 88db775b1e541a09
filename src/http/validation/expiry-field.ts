import { applyDecorators } from '@nestjs/common';
import { invalidField } from '../../errors/domain-error';
import type { FieldText } from './field-text';
import { CheckedBy } from './member-rule';
import { TimestampField } from './text-fields';
import { parseTimestamp } from './timestamp';

const YEARS_AHEAD = 10;

/** When something expires: ahead, at most ten years. */
export function ExpiryField(field: FieldText<string>): PropertyDecorator {
  return applyDecorators(
    TimestampField({ optional: true, ...field }),
    CheckedBy('expiry', (value) => expiryFault(value, new Date())),
  );
}

/**
 * That it lies ahead is for the ledger to say: a request that is repeated with its `Idempotency-Key` after it has passed is
 * still answered as it was first. A value that is not a time at all is another rule's to blame.
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
function expiryRule(now: Date): string {
  return `must be ahead of now, at most ${YEARS_AHEAD} years: up to ${latestExpiry(now)}`;
}

/**
 * Compared with what the clock shows, as the client does: the ledger's time may be ahead of that.
 * @throws VALIDATION_ERROR
 */
export function requireAhead(expiresAt: string | undefined, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) throw invalidField('expiresAt', expiryRule(now));
}
